export type Resource = {
  Type: string;
  Properties: Record<string, unknown>;
  DependsOn?: string[];
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
};
export type Resources = Record<string, Resource>;

export type Statement = {
  Effect: 'Allow' | 'Deny';
  Principal?: unknown;
  Action: string | string[];
  Resource?: unknown;
  Condition?: Record<string, Record<string, unknown>>;
};

export const ref = (id: string) => ({ Ref: id });
export const arnOf = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
export const sub = (text: string) => ({ 'Fn::Sub': text });
/** A logical id may only contain letters and digits. */
export const idOf = (name: string): string => name.replaceAll('-', '');
/** How osls begins the logical ids of a function's resources. */
export const functionIdOf = (name: string): string =>
  name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', 'Dash');
/** Of a durable function: its alias, by which it is called. */
export const aliasOf = (name: string) => ref(`${functionIdOf(name)}DurableLambdaAlias`);
export const logGroupOf = (name: string): string => `${functionIdOf(name)}LogGroup`;
export const queueOf = (name: string): string => `${idOf(name)}Queue`;

export const ofThisAccount = { StringEquals: { 'aws:SourceAccount': ref('AWS::AccountId') } };

/** Refuses whoever does not use TLS. */
export const tlsOnly = (Action: string, Resource: unknown): Statement => ({
  Effect: 'Deny',
  Principal: '*',
  Action,
  Resource,
  Condition: { Bool: { 'aws:SecureTransport': 'false' } },
});

export const document = (Statement: Statement[]) => ({ Version: '2012-10-17', Statement });

/** The items of a parameter that holds a list, separated by commas; a single account may be a number. */
export const itemsOf = (list: string | number): string[] => (list === '' ? [] : `${list}`.split(','));
