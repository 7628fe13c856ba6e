import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Operation } from '../../lib/platform/client/operation.ts';
import { operations, refusedOperations } from '../../lib/platform/resources/operations.ts';
import { loadFunctions } from '../../lib/stage/integrations.ts';
import { tableOf, writePart } from '../documents.ts';
import { typed } from '../lib/desk/cli/typed.ts';
import { calledOperations } from '../lib/platform/called-operations.ts';
import { documentedErrors, refusalsEverywhere, routeOf } from '../lib/platform/documented-errors.ts';
import { controlsOf } from '../local/controls.ts';
import type { Route } from '../local/platform/route.ts';
import { type Stack, startStack } from '../local/stack.ts';

const root = resolve(import.meta.dirname, '../..');
/** The table of operations in lib/platform/README.md, as the code says it. */
export async function operationsTable(): Promise<string> {
  const [clients, users, places] = await Promise.all([clientFunctions(), usersByOperation(), routeFiles()]);
  const placeOf = ({ method, component, path }: Operation<unknown>) => `${component}${path} ${method}`;
  const inOrder = operations.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
  const rows = inOrder.map((operation) => {
    const { name, method, component, path } = operation;
    const route = routeOf(operation);
    return [
      `\`${name}\``,
      `${method} ${component === undefined ? '' : `/${component}/…`}${path}`,
      clients(operation).join(', '),
      (users.get(name) ?? []).join(', ') || '–',
      route ? (places.get(route) ?? '') : 'beside its API',
      errorsOf(name).join(', ') || '–',
    ];
  });
  const refused = refusedOperations.map(({ name, method, component, path, reason }) => [
    `\`${name}\``,
    `${method} /${component}/…${path}`,
    `\`${name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}\` throws: ${reason}`,
    '–',
    'refuses it',
    errorsOf(name).join(', '),
  ]);
  const header = ['operation', 'call', 'client', 'used by', 'local platform', 'tested errors'];
  return `\n${tableOf(header, [...rows, ...refused])}\n`;
}

/** The client's functions that call an operation, by what is written in them. */
async function clientFunctions(): Promise<(operation: Operation<unknown>) => string[]> {
  const folder = join(root, 'lib/platform');
  const modules: Record<string, unknown>[] = await Promise.all(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .sort()
      .map((file) => import(join(folder, file))),
  );
  return (operation) =>
    modules.flatMap((module) => {
      const [constant] = Object.entries(module).find(([, value]) => value === operation) ?? [];
      if (constant === undefined) return [];
      const uses = new RegExp(`\\b${constant}\\b`);
      return Object.entries(module)
        .flatMap(([name, value]) =>
          typeof value === 'function' && uses.test(String(value)) ? [`\`${name}\``] : [],
        )
        .sort();
    });
}

/**
 * Who calls what: functions by the operations that they declare, beyond which any call is a defect, and the commands by
 * what they ask of a platform.
 */
async function usersByOperation(): Promise<Map<string, string[]>> {
  const users = new Map<string, string[]>();
  const add = (operation: Operation<unknown>, user: string) =>
    users.set(operation.name, [...new Set([...(users.get(operation.name) ?? []), user])]);
  for (const { name, operations: declared } of await loadFunctions())
    for (const operation of declared) add(operation, name);
  for (const [command, asked] of await callsOfCommands())
    for (const operation of asked) add(operation, `\`sis-relay ${command}\``);
  return users;
}

/** Each command that could ask the platform anything, run once. */
async function callsOfCommands(): Promise<[string, Operation<unknown>[]][]> {
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-operations-'));
  const stack = await startStack({ functions: false });
  try {
    const file = join(folder, 'stack.json');
    writeFileSync(file, JSON.stringify(stack.description));
    const address = join(folder, 'address.txt');
    writeFileSync(address, 'https://sis.example.edu/done?x_a=301&x_b=local-key-301');
    const lines = {
      status: [],
      publish: [join(root, 'events/grade-push.json'), '--dry-run'],
      scopes: [],
      'auth-url': ['--callback', 'https://sis.example.edu/done', '--returned', address, '--yes'],
      'letters groups': [],
      'letters list': [],
      'letters replay': ['--dry-run'],
    };
    const called: [string, Operation<unknown>[]][] = [];
    for (const [command, options] of Object.entries(lines))
      called.push([command, await callsOf([command, ...options, '--stack', file].join(' '), stack)]);
    return called;
  } finally {
    await stack.close();
    rmSync(folder, { recursive: true });
  }
}

async function callsOf(line: string, { description }: Stack): Promise<Operation<unknown>[]> {
  const controls = controlsOf(description);
  const before = (await controls.requests()).length;
  await typed(line);
  return calledOperations((await controls.requests()).slice(before));
}

/** Where the local platform holds each of its routes. */
async function routeFiles(): Promise<Map<Route, string>> {
  const folder = join(root, 'test/local/platform/routes');
  const files = readdirSync(folder).filter((file) => !file.endsWith('.test.ts'));
  const found = files.map(async (file) => {
    const module: Record<string, Route[]> = await import(join(folder, file));
    return Object.values(module)
      .flat()
      .map((route): [Route, string] => [route, `[${file}](../../test/local/platform/routes/${file})`]);
  });
  return new Map((await Promise.all(found)).flat());
}

/** The rows of the table tests. */
const errorsOf = (name: string): string[] =>
  [
    ...new Set(
      [...documentedErrors, ...refusalsEverywhere]
        .filter(({ operation }) => operation.name === name)
        .map(({ refused }) => `${refused.status} ${refused.title}`),
    ),
  ].sort();

/** `npm run generate` writes the table anew. */
export const command = async (): Promise<void> => writePart('operations', await operationsTable());
