import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { addLambdaBinding } from './bindings.config.ts';
import { functionNames as namesOfFunctions } from './lib/stage/function-names.ts';
import { noticesOf } from './notices.config.ts';

export const functionNames = namesOfFunctions();

const integrationNames = functionNames.filter((name) =>
  /^export const integration\b/m.test(
    readFileSync(join(import.meta.dirname, 'functions', `${name}.ts`), 'utf8'),
  ),
);

/** The texts of statements, by the names of their files in a folder. */
const sqlTexts = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder).map((file) => [basename(file, '.sql'), readFileSync(join(folder, file), 'utf8')]),
  );

/**
 * What a container never uses, left out of every bundle. A name that the code asks for and that is not here is an error of
 * the build.
 */
const noLambdaClient = `
    export const lambdaOf = () => { throw new Error('The client for functions is not in the bundle') };`;

const replacements: Record<string, string | ((folder: string) => string)> = {
  // The package's own entry evaluates fetch, WebSocket and caches too: 28 ms and 270 KB of each cold start (Node 24).
  undici: `
    import request from 'undici/lib/api/api-request.js';
    import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
    export { default as Client } from 'undici/lib/dispatcher/client.js';
    export { default as Pool } from 'undici/lib/dispatcher/pool.js';
    Object.assign(Dispatcher.prototype, { request });`,
  // Lambda puts the role's credentials into the environment: to look for them elsewhere first costs 20 ms and 150 KB.
  '@aws-sdk/credential-provider-node': `
    import { fromEnv } from '@aws-sdk/credential-provider-env';
    export const defaultProvider = () => fromEnv();`,
  // For processors without SIMD: Lambda has none such.
  '../llhttp/llhttp-wasm.js': `
    throw new Error('The parser for processors without SIMD is not in the bundle');`,
  // undici's other protocol, with all of Node's own HTTP/2 behind it: no client of ours speaks it.
  './client-h2.js': `
    module.exports = () => { throw new Error('HTTP/2 is not in the bundle: set allowH2 to false') };`,
  // No function may change a function: what options read on call does without this client.
  '../../stage/lambda-client.ts': noLambdaClient,
  '../../../stage/lambda-client.ts': noLambdaClient,
  // Each schema can describe itself as JSON Schema: 17 KB of each function, though only `npm run generate` and the command ask for it.
  '../core/json-schema-processors.js': `
    module.exports = {};`,
  '../core/to-json-schema.js': `
    const missing = () => () => { throw new Error('JSON Schema is not in the bundle') };
    export { missing as createToJSONSchemaMethod, missing as createStandardJSONSchemaMethod };`,
  // Its own entry would look for the library of C first, by other packages. Which binding is there, packaging decides.
  '@duckdb/node-bindings': `
    module.exports = require('@duckdb/node-bindings-' + process.platform + '-' + process.arch + '/duckdb.node');`,
  // No function has a command or a screen.
  './desk/desk.ts': `
    export const desk = {};`,
  // Nor what is deployed.
  './deployed-parts.ts': `
    export const deployedParts = undefined;`,
  './accepted-exports.ts': `
    export const readAcceptedExports = undefined;`,
  // The SDK tells browsers apart with it.
  bowser: '',
  // A bundle has no files beside it.
  './sql-files.ts': (folder) => `
    const texts = ${JSON.stringify(sqlTexts(join(folder, 'sql')))};
    export const sqlFile = (name) => texts[name];`,
  // One list: as an import of its own, each function would be a chunk, and so would be what each two of them share. Functions ask for
  // integrations alone: the code of a job, and the set engine that some need, is in no other function.
  './function-modules.ts': `
    ${integrationNames.map((name, at) => `import * as m${at} from '../../functions/${name}.ts';`).join('')}
    const integrations = { ${integrationNames.map((name, at) => `'${name}': m${at}`)} };
    const modules = new Map(${JSON.stringify(functionNames)}.map((name) => [name, integrations[name] ?? {}]));
    export const functionModules = async () => modules;
    export const functionModule = async (name) => modules.get(name);`,
};

/** What makes messages by a mapping file reads the functions' schemas as JSON Schema. */
const mapping = ['change-poll', 'snapshot-import', 'reconcile'];
/** Functions that do use what the others never do. */
const users: Record<string, readonly string[]> = {
  '../core/json-schema-processors.js': mapping,
  '../core/to-json-schema.js': mapping,
  './accepted-exports.ts': ['reconcile'],
};

const replaceUnused = (functions: readonly string[]): Plugin => ({
  name: 'replace-unused',
  setup: ({ onResolve, onLoad }) => {
    const unused = Object.keys(replacements).filter(
      (path) => !functions.some((name) => users[path]?.includes(name)),
    );
    const filter = new RegExp(`^(${unused.join('|')})$`);
    onResolve({ filter }, ({ path, resolveDir }) => ({
      path,
      namespace: 'replacement',
      pluginData: resolveDir,
    }));
    onLoad({ filter, namespace: 'replacement' }, ({ path, pluginData: resolveDir }) => {
      const text = replacements[path] ?? '';
      return { contents: typeof text === 'string' ? text : text(resolveDir), resolveDir };
    });
  },
});

/**
 * Imported as ES modules, Node's own evaluate all that they export, also what they would load only when it is used: `node:http`
 * Node's undici and HTTP/2, `node:crypto` WebCrypto. That was a quarter of each import (Node 24).
 */
const getBuiltins: Plugin = {
  name: 'get-builtins',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^(node:)?[a-z0-9_]+(\/[a-z0-9_]+)*$/ }, ({ path }) =>
      isBuiltin(path) ? { path: path.replace(/^(node:)?/, 'node:'), namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /^/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}');`,
    }));
  },
};

/** How functions are bundled, one by one: at once, they would share chunks that hold more than each of them needs. */
export const bundling = (names: readonly string[]) =>
  ({
    absWorkingDir: import.meta.dirname,
    // The names of chunks come from paths: the same wherever the project lies, and where node_modules is a link.
    preserveSymlinks: true,
    entryPoints: Object.fromEntries(names.map((name) => [`functions/${name}`, `functions/${name}.ts`])),
    bundle: true,
    format: 'esm',
    splitting: true,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    platform: 'node',
    // As Node's own undici is bundled: without its experimental parser, a fifth of the code.
    define: { esbuildDetection: 'true' },
    target: 'node24',
    // The SDK's CommonJS files cannot be searched for what is unused.
    mainFields: ['module', 'main'],
    // Dependencies in CommonJS ask for Node's own modules by `require`, which a module does not have.
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    minify: true,
    legalComments: 'none',
    sourcemap: 'external',
    plugins: [replaceUnused(names), getBuiltins],
    write: false,
  }) satisfies BuildOptions;

/**
 * Bundles `functions/<name>.ts` into `<codeDir>/functions/<name>.mjs` and the chunks that it loads when it needs them: the
 * clients of SQS and S3, and the set engine, with its binding. The source maps go aside, as nothing reads them in Lambda. Answers the files of the code,
 * and the notices of the packages that are in it, unless the code is `unpublished`: then nobody needs them.
 */
export const bundle = async (
  name: string,
  { codeDir, mapDir, unpublished = false }: { codeDir: string; mapDir: string; unpublished?: boolean },
): Promise<string[]> => {
  const { outputFiles, metafile } = await build({ ...bundling([name]), outdir: codeDir, metafile: true });
  await Promise.all([codeDir, mapDir].map((folder) => rm(folder, { recursive: true, force: true })));
  const codeFiles: string[] = [];
  for (const { path, contents } of outputFiles) {
    const isMap = path.endsWith('.map');
    const file = isMap ? join(mapDir, relative(codeDir, path)) : path;
    if (!isMap) codeFiles.push(file);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, contents);
  }
  const notices = join(codeDir, 'THIRD-PARTY-NOTICES.txt');
  if (!unpublished) await writeFile(notices, await noticesOf(import.meta.dirname, metafile));
  const files = unpublished ? codeFiles : [...codeFiles, notices];
  const hasSets = Object.keys(metafile.inputs).includes('replacement:@duckdb/node-bindings');
  return hasSets ? [...files, ...(await addLambdaBinding(codeDir))] : files;
};
