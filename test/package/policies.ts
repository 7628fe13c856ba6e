import type { Deployment } from './cloudformation.ts';

export type Statement = {
  effect: 'Allow' | 'Deny';
  actions: string[];
  resources: string[];
  condition?: Record<string, Record<string, string | string[]>>;
  principal?: unknown;
};

/** One call of AWS, as IAM sees it: the action that it takes, what it is about, and what conditions may ask for. */
export type AwsCall = { action: string; resource: string; context?: Record<string, string> };

type Document = { Statement: Record<string, unknown>[] };

export const statementsOf = ({ Statement }: Document): Statement[] =>
  Statement.map((statement) => ({
    effect: statement.Effect as Statement['effect'],
    actions: [statement.Action].flat() as string[],
    resources: [statement.Resource].flat() as string[],
    ...(statement.Condition ? { condition: statement.Condition as NonNullable<Statement['condition']> } : {}),
    ...(statement.Principal ? { principal: statement.Principal } : {}),
  }));

/** All that a role allows. */
export const roleStatements = (deployment: Deployment, roleId: string): Statement[] =>
  (deployment.ofType('AWS::IAM::Role').find(({ id }) => id === roleId)?.Policies ?? []).flatMap(
    ({ PolicyDocument }: { PolicyDocument: Document }) => statementsOf(PolicyDocument),
  );

/** What a function's role allows. */
export const statementsOfRole = (deployment: Deployment, name: string): Statement[] => {
  const lambda = deployment
    .ofType('AWS::Lambda::Function')
    .find(({ FunctionName }) => FunctionName.endsWith(`-${name}`));
  return roleStatements(deployment, lambda?.Role.split('/').at(-1));
};

/** The parts of statements that cover a call: an action with a resource of its statement. */
export const coverOf = (call: AwsCall, statements: Statement[]): string[] =>
  statements.flatMap((statement) =>
    statement.effect === 'Allow' && conditionHolds(statement, call)
      ? grants(statement)
          .filter(({ action, resource }) => matches(action, call.action) && matches(resource, call.resource))
          .map(nameOf)
      : [],
  );

export const allGrants = (statements: Statement[]): string[] => statements.flatMap(grants).map(nameOf);

const grants = ({ actions, resources }: Statement) =>
  actions.flatMap((action) => resources.map((resource) => ({ action, resource })));

const nameOf = ({ action, resource }: { action: string; resource: string }) => `${action} on ${resource}`;

const conditionHolds = ({ condition = {} }: Statement, { context = {} }: AwsCall): boolean =>
  Object.entries(condition).every(([operator, wanted]) => {
    const holds = operators[operator];
    if (!holds) throw new Error(`The condition ${operator} is not known here`);
    return Object.entries(wanted).every(([key, values]) =>
      [values].flat().some((value) => holds(value, context[key] ?? '')),
    );
  });

const operators: Record<string, (wanted: string, given: string) => boolean> = {
  StringEquals: (wanted, given) => wanted === given,
  ArnLike: (wanted, given) => matches(wanted, given),
  StringLike: (wanted, given) => matches(wanted, given),
  'ForAllValues:StringLike': (wanted, given) => matches(wanted, given),
};

/** IAM's wildcards: any text, and any one character. */
export const matches = (pattern: string, text: string): boolean => {
  const escaped = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${escaped}$`, 's').test(text);
};
