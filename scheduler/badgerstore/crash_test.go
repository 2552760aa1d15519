package badgerstore

const crashChildEnv = "SEXTANT_CRASH_CHILD"

func crashChild(string) {}
