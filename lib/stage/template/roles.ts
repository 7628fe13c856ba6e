import {
  document,
  idOf,
  itemsOf,
  ofThisAccount,
  type Resource,
  type Resources,
  type Statement,
} from './cloudformation.ts';
import { type DeclaredRights, functionRights } from './function-rights.ts';
import type { FunctionParts } from './functions/function-parts.ts';
import { type Grant, joined, statementsOf } from './grant.ts';
import type { PolicyId, PolicyOfPeople } from './people.ts';
import { type StageArns, stageArns } from './stage-arns.ts';
import type { TemplateOptions } from './stage-settings.ts';

/** A role for each function, one by which schedules start functions, and policies for people. */
export const roleResources = (
  options: TemplateOptions,
  declared: DeclaredRights[],
  { parts, people }: { parts: FunctionParts[]; people: Partial<Record<PolicyId, PolicyOfPeople>> },
): Resources => {
  const stage = stageArns(
    options,
    declared.flatMap(({ integration }) => integration ?? []),
  );
  const roles = declared.map((each): [string, Resource] => {
    const own = parts.filter((part) => part.function === each.name);
    const ofOthers = each.name === 'dead-letter-replay' ? parts : [];
    const rights = [
      ...functionRights(options, each, stage),
      ...own.flatMap((part) => part.rights(stage)),
      ...ofOthers.flatMap((part) => part.onCall?.(stage) ?? []),
    ];
    return [roleOf(each.name), role(options, 'lambda.amazonaws.com', { name: each.name, rights })];
  });
  const policies = Object.entries(people).map(([id, { Description, rights }]): [string, Resource] => {
    const Roles = rolesWith(id, options);
    const ofOptions = parts.flatMap((part) => part.people?.(stage)[id as PolicyId] ?? []);
    const PolicyDocument = document(statementsOf(joined([...rights(stage), ...ofOptions])));
    const Properties = { Description, PolicyDocument, ...(Roles.length > 0 && { Roles }) };
    return [id, { Type: 'AWS::IAM::ManagedPolicy', Properties }];
  });
  return {
    ...Object.fromEntries(roles),
    SchedulerRole: role(options, 'scheduler.amazonaws.com', {
      name: 'start',
      rights: startRights(declared, stage),
      Condition: ofThisAccount,
    }),
    ...Object.fromEntries(policies),
  };
};

/** A durable function is called by its alias, and all others by their name. */
const startRights = (declared: DeclaredRights[], { functionNamed }: StageArns): Grant[] =>
  declared
    .filter(({ scheduled }) => scheduled)
    .map(({ name, durable }) => ({
      Action: ['lambda:InvokeFunction'],
      Resource: functionNamed(durable ? `${name}:durable` : name),
    }));

/** Who operates also reads, and who leads does both. */
const rolesWith = (policy: string, { readers, operators, leads }: TemplateOptions): string[] => {
  const holders: Record<string, string[]> = {
    Readers: [readers, operators, leads],
    Operators: [operators, leads],
    Leads: [leads],
  };
  return [...new Set((holders[policy] ?? []).flatMap(itemsOf))];
};

export const roleOf = (name: string): string => `${idOf(name)}Role`;

/**
 * One policy for all rights. Its name differs from those of the separate policies of earlier versions: CloudFormation deletes these by
 * name after it has written the role.
 */
const role = (
  { permissionsBoundary }: TemplateOptions,
  Service: string,
  { name, rights, ...more }: { name: string; rights: Grant[] } & Pick<Statement, 'Condition'>,
): Resource => ({
  Type: 'AWS::IAM::Role',
  Properties: {
    AssumeRolePolicyDocument: document([
      { Effect: 'Allow', Principal: { Service }, Action: 'sts:AssumeRole', ...more },
    ]),
    Policies: [{ PolicyName: name, PolicyDocument: document(statementsOf(rights)) }],
    ...(permissionsBoundary !== '' && { PermissionsBoundary: permissionsBoundary }),
  },
});

/** They follow from a function's name, also if one function alone is deployed. */
export const setHandlersAndRoles = (functions: Record<string, { handler?: string; role?: string }>): void => {
  for (const [name, stanza] of Object.entries(functions))
    Object.assign(stanza, { handler: `functions/${name}.handler`, role: roleOf(name) });
};
