import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { addressProblem } from '../../../lib/stage/template/address-problem.ts';
import { functionIdOf, idOf } from '../../../lib/stage/template/cloudformation.ts';
import { stageProblem } from '../../../lib/stage/template/stage-name.ts';
import { checkNames } from '../../../lib/stage/template/template.ts';
import { tableKeys } from '../../local/aws/table-keys.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import type { Template } from '../cloudformation.ts';
import { copyProject, type Packaged, packageProject, serverless } from '../packaged.ts';
import { packagedProject } from '../packages.ts';
import { mistakes } from './mistakes.ts';
import { brokenRules, type RuleTitle, rules } from './rules.ts';

/** CloudFormation's own validator takes five seconds to know all types of resources. */
const dear = 'CloudFormation takes it';
const titles = Object.keys(rules) as RuleTitle[];
const quick = titles.filter((title) => title !== dear);

let packaged: Packaged;
let broken: Record<string, string[]>;

beforeAll(async () => {
  packaged = await packagedProject();
  broken = await brokenRules(packaged.template, quick);
});

describe('the packaged template', () => {
  test.each(quick)('%s', (title) => expect(broken[title] ?? []).toEqual([]));

  test(dear, { tags: ['long'] }, async () =>
    expect(await brokenRules(packaged.template, [dear])).toEqual({}),
  );
});

test('no rule is broken by a stage that is protected', { tags: ['long'] }, async () => {
  expect(await brokenRules((await packagedProject('prod')).template)).toEqual({});
});

test('its outputs tell the command where everything of the stage is', () => {
  expect(packaged.template.Outputs).toMatchObject({
    FilesBucket: { Value: { Ref: 'Files' } },
    PlatformUrl: { Value: 'https://platform-test.example.edu' },
    SecretPrefix: { Value: 'sis-relay/local' },
    DeadLettersUrl: { Value: { Ref: 'DeadLetters' } },
    LedgerTable: { Value: { Ref: 'Ledger' } },
  });
});

test.each([
  ['Ledger', tableKeys.ledger],
  ['Desk', tableKeys.desk],
  ['Crosswalk', tableKeys.crosswalk],
])('%s has the keys that the tests’ table has', (id, keys) => {
  const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes } =
    packaged.template.Resources[id]?.Properties ?? {};
  expect({ AttributeDefinitions, KeySchema, GlobalSecondaryIndexes }).toEqual(keys);
});

test.each(['prod-2', 'Prod', 'p'.repeat(20)])('a stage %s is not packaged', (stage) => {
  expect(stageProblem(stage)).toContain('must have at most 19 characters, all lower-case letters or digits');
});

test.each([
  ['platformUrl', 'https://platform.example.edu', 'platformUrl: https://platform.example.edu is an example'],
  ['alarmEmail', 'operations@example.edu', 'alarmEmail: operations@example.edu is an example'],
  ['alarmEmail', 'operations', 'alarmEmail: operations is not a mail address'],
] as const)('a stage whose %s is %s is not deployed', (name, value, problem) => {
  expect(addressProblem(name, value, { examples: false })).toContain(problem);
  expect(addressProblem(name, value, { examples: true })).toBe(
    value.includes('example') ? undefined : problem,
  );
});

test('addresses of a university are deployed', () => {
  expect(addressProblem('platformUrl', 'https://platform.university.edu', { examples: false })).toBe(
    undefined,
  );
  expect(addressProblem('alarmEmail', 'operations@university.edu', { examples: false })).toBe(undefined);
});

test.each([
  ['a function without an entry', ['grade-push'], 'functions/token-refresh.ts has no entry under functions:'],
  [
    'an entry without a function',
    ['grade-push', 'token-refresh', 'grade-pull'],
    'grade-pull in serverless.yml has no file',
  ],
  [
    'parts of a function that there is not',
    ['grade-push', 'token-refresh'],
    'template.ts lists parts of pol, which has no file',
    [{ function: 'token-refresh' }, { function: 'pol' }],
  ],
])('%s is not packaged', (_, names, problem, parts: { function: string }[] = []) => {
  const declared = [{ name: 'grade-push' }, { name: 'token-refresh' }];
  expect(() => checkNames(names, declared, parts)).toThrow(problem);
  expect(() => checkNames(['token-refresh', 'grade-push'], declared)).not.toThrow();
});

test('serverless.yml without one of the functions is not packaged', { tags: ['long'] }, async () => {
  const project = await copyProject(temporaryFolder());
  const file = join(project, 'serverless.yml');
  await writeFile(file, (await readFile(file, 'utf8')).replace('  org-unit-move: {}\n', ''));
  await expect(serverless(project, ['package'])).rejects.toThrow('functions/org-unit-move.ts has no entry');
});

test('functions that are off have no resource, right or alarm, and the others all of theirs', {
  tags: ['long'],
}, async () => {
  const project = temporaryFolder();
  await mkdir(join(project, 'stages'), { recursive: true });
  const off = ['submission-upload', 'crosswalk-fill', 'snapshot-import', 'change-poll', 'token-refresh'];
  await writeFile(join(project, 'stages/local.yml'), `off: ${off}\n`);
  const { template } = await packageProject(project, { code: false });
  expect(await brokenRules(template, quick)).toEqual({});
  const { Files, ...others } = template.Resources;
  const ids = off.map((name) => `${functionIdOf(name)}|${idOf(name)}(Queue|Role)|-local-${name}`);
  expect(JSON.stringify({ ...others, Outputs: template.Outputs })).not.toMatch(new RegExp(ids.join('|')));
  const kept = (types: Template) =>
    Object.keys(types.Resources).filter((id) => /^GradeDashpush|^gradepush/.test(id));
  expect(kept(template)).toEqual(kept(packaged.template));
});

test.each([
  ['grade-pish', 'off: There is no function grade-pish'],
  ['connection-check', 'off: connection-check cannot be off'],
])('%s cannot be off', { tags: ['long'] }, async (name, problem) => {
  const packaging = serverless(await copyProject(temporaryFolder()), ['package', `--param=off=${name}`]);
  await expect(packaging).rejects.toThrow(problem);
});

test('settings that no function would take are not packaged', { tags: ['long'] }, async () => {
  const project = await copyProject(temporaryFolder());
  const packaging = serverless(project, [
    'package',
    '--param=platformUrl=https://platform.university.edu/site',
  ]);
  await expect(packaging).rejects.toThrow('platformUrl: must have only a scheme, host and port');
});

describe('a mistake is noticed:', () => {
  const noticed = async (title: RuleTitle) => {
    const template = structuredClone(packaged.template);
    const [, make] = mistakes[title];
    make((id) => template.Resources[id]!.Properties, template.Resources);
    expect(Object.keys(await brokenRules(template, [title]))).toEqual([title]);
  };

  test.each(quick.map((title) => [mistakes[title][0], title] as const))('%s', (_, title) => noticed(title));

  test(mistakes[dear][0], { tags: ['long'] }, () => noticed(dear));
});
