import { expect, test } from 'vitest';
import type { Options } from '../../../../lib/operate/stage/template/cloudformation.ts';
import { type Declared, type Rights, roleResources } from '../../../../lib/operate/stage/template/roles.ts';

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
} as Options;
const poll: Declared = {
  ...{ name: 'poll', calls: false, durable: false, scheduled: false },
  integration: undefined,
};

/** The statements of a function whose rights are these rows. */
const statementsOf = (rows: string[], more: Rights['functions'] = {}, off = '') => {
  const rights = { functions: { poll: rows, ...more }, people: {} };
  const { pollRole } = roleResources({ ...options, off }, rights, { declared: [poll], all: ['poll'] });
  const [policy] = pollRole!.Properties.Policies as { PolicyDocument: { Statement: object[] } }[];
  return policy?.PolicyDocument.Statement;
};

test('a right is limited to the keys that its row names', () => {
  expect(statementsOf(['dynamodb GetItem UpdateItem on Ledger.Arn changes/* pace/{name}/*'])).toEqual([
    {
      Effect: 'Allow',
      Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
      Resource: { 'Fn::GetAtt': ['Ledger', 'Arn'] },
      Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['changes/*', 'pace/poll/*'] } },
    },
  ]);
});

test.each([
  ['dynamodb PutItem on Ledger.Arn {changes}/*', 'no kind of resource'],
  ['s3 GetObject on events/{name}/* uploads/{secrets}/*', 'no folder of secrets'],
  ['kms Decrypt on {key}', 'no key'],
])('%s is no right for a function that has %s', (row) => {
  expect(statementsOf([row])).toEqual([]);
});

test.each([
  ['sqs SendMessage DeadLetters.Arn', 'must be: service Actions on resources'],
  ['s3 GetObject on {folder}/*', 'there is no {folder}'],
])('%s is refused', (row, problem) => {
  expect(() => statementsOf([row])).toThrow(problem);
});

test('no right names a function that is off', () => {
  const rows = [
    'lambda InvokeFunction on CourseDashexportDurableLambdaAlias',
    'lambda Pause on course-export:*',
  ];
  expect(statementsOf(rows)).toHaveLength(2);
  expect(statementsOf(rows, {}, 'course-export,grade-push')).toEqual([]);
});

test('rights of a function that does not exist are refused', () => {
  expect(() => statementsOf([], { pol: ['sqs SendMessage on *'] })).toThrow('rights.yml has rights of pol');
});

test('people get the policies of their role and of those before it', () => {
  const people = {
    Readers: { may: '', rights: [] },
    Operators: { may: '', rights: [] },
    Leads: { may: '', rights: [] },
  };
  const rolesOf = (named: Partial<Options>) =>
    Object.entries(
      roleResources({ ...options, ...named }, { functions: {}, people }, { declared: [], all: [] }),
    ).flatMap(([id, { Properties }]) => (id in people ? [[id, Properties.Roles]] : []));
  expect(rolesOf({ readers: 'staff', operators: 'desk,help', leads: 'heads' })).toEqual([
    ['Readers', ['staff', 'desk', 'help', 'heads']],
    ['Operators', ['desk', 'help', 'heads']],
    ['Leads', ['heads']],
  ]);
  expect(rolesOf({})).toEqual(Object.keys(people).map((id) => [id, undefined]));
});
