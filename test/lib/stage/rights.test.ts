import { expect, test } from 'vitest';
import { type Grant, statementsOf } from '../../../lib/stage/template/grant.ts';
import { roleResources } from '../../../lib/stage/template/roles.ts';
import { leadingKeys, ledgerArn, objects, stageArns } from '../../../lib/stage/template/stage-arns.ts';
import type { TemplateOptions } from '../../../lib/stage/template/stage-settings.ts';

const options = {
  stage: 'prod',
  off: '',
  tracing: '',
  subnetIds: '',
  kmsKeyArn: '',
  readers: '',
  operators: '',
  leads: '',
  permissionsBoundary: '',
} as TemplateOptions;

test('a right allows if it does not deny, and is limited to the keys that it names', () => {
  const Action: Grant['Action'] = ['dynamodb:GetItem'];
  const Condition = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['changes/*', 'pace/poll/*'] } };
  expect(
    statementsOf([
      { Action, Resource: ledgerArn, Condition: leadingKeys('changes/*', 'pace/poll/*') },
      { Effect: 'Deny', Action, Resource: objects('a') },
    ]),
  ).toEqual([
    { Effect: 'Allow', Action, Resource: { 'Fn::GetAtt': ['Ledger', 'Arn'] }, Condition },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's.
    { Effect: 'Deny', Action, Resource: [{ 'Fn::Sub': '${Files.Arn}/a' }] },
  ]);
});

test.each<[string, Omit<Grant, 'Action'>]>([
  ['queues, where there are none', { Resource: stageArns(options, []).queues }],
  ['a key, where AWS’ own encrypt', { Resource: stageArns(options, []).kmsKey }],
  ['items of no kind', { Resource: ledgerArn, Condition: leadingKeys() }],
  ['functions that are all off', { Resource: stageArns({ ...options, off: 'a-b' }, []).functions('a-b') }],
])('there is no right to %s', (_, right) => {
  expect(statementsOf([{ Action: ['sqs:SendMessage'], ...right }])).toEqual([]);
});

test('no right names a function that is off', () => {
  const { functions, functionsAndVersions, aliases, executions } = stageArns(
    { ...options, off: 'course-export,grade-push' },
    [],
  );
  for (const named of [functions, functionsAndVersions, aliases, executions]) {
    const found = JSON.stringify(named('course-export', 'crosswalk-fill'));
    expect(found).toMatch(/crosswalk-fill|CrosswalkDashfill/);
    expect(found).not.toMatch(/course-export|CourseDashexport/);
  }
});

test('people get the policies of their role and of those before it', () => {
  const none = { Description: '', rights: () => [] };
  const people = { Readers: none, Operators: none, Leads: none };
  const rolesOf = (named: Partial<TemplateOptions>) =>
    Object.entries(roleResources({ ...options, ...named }, [], { parts: [], people })).flatMap(
      ([id, { Properties }]) => (id in people ? [[id, Properties.Roles]] : []),
    );
  expect(rolesOf({ readers: 'staff', operators: 'desk,help', leads: 'heads' })).toEqual([
    ['Readers', ['staff', 'desk', 'help', 'heads']],
    ['Operators', ['desk', 'help', 'heads']],
    ['Leads', ['heads']],
  ]);
  expect(rolesOf({})).toEqual(Object.keys(people).map((id) => [id, undefined]));
});
