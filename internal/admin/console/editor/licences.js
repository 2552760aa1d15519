// Writes the licences of all that is in the bundle beside it.
import { readFileSync, writeFileSync } from "node:fs";

const { inputs } = JSON.parse(readFileSync(0, "utf8"));
const names = new Set(Object.keys(inputs).map((path) => /node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1]).filter(Boolean));
const parts = [...names].sort().map((name) => {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});
writeFileSync("../static/vendor/codemirror.LICENSE.txt", parts.join(`\n${"-".repeat(78)}\n\n`));
