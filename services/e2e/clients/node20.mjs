// The conformance suite imports fs.globSync, which Node 20 does not have, and uses it for
// what is not run here.
import { register } from 'node:module';

const fs = "import fs from 'node:fs'; export * from 'node:fs'; export default fs; export const globSync = fs.globSync ?? (() => []);";
const hooks = `
export async function resolve(specifier, context, next) {
  if (specifier === 'fs' && !context.parentURL?.startsWith('data:')) {
    return { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(fs)}`)}, shortCircuit: true };
  }
  return next(specifier, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
