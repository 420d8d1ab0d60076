// The contracts are generated into gen/ts of the repository, and are a part of this package.
import { cpSync, copyFileSync, rmSync } from "node:fs";

rmSync(new URL("src/gen", import.meta.url), { recursive: true, force: true });
cpSync(new URL("../../gen/ts", import.meta.url), new URL("src/gen", import.meta.url), { recursive: true });
copyFileSync(new URL("../../LICENSE", import.meta.url), new URL("LICENSE", import.meta.url));
