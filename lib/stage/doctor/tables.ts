import { returningOldItem, writeReturningOldItem } from '../../runtime/aws/dynamodb.ts';
import { notHere, type Step, seen } from './step.ts';

export const refusedWrite: Step = {
  id: 'refused-write',
  claim: 'A refused write of DynamoDB returns the item as it was, so that no message reads the ledger',
  marked: ['A refused write returns the item as it was'],
  does: 'Writes an item with a key of its own into the ledger’s table, then once more under a condition that does not hold.',
  costs: 'three writes: less than $0.01',
  minutes: 1,
  expected: 'the second write is refused, and the refusal has the item',
  rights: ['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem', 'kms:Decrypt'],
  try: async ({ target: { dynamodb, ledgerTable: TableName }, name, make }) => {
    if (TableName === undefined) return notHere('The name of the ledger’s table is not known.');
    const Key = { resource: { S: `doctor/${name}` } };
    const item = { ...Key, doctor: { S: name }, expires: { N: `${Math.ceil(Date.now() / 1_000) + 86_400}` } };
    await make(
      `the item doctor/${name} of the table ${TableName}`,
      () => dynamodb.call('PutItem', { TableName, Item: item }),
      () => dynamodb.call('DeleteItem', { TableName, Key }),
    );
    const { done, before } = await writeReturningOldItem(() =>
      dynamodb.call('UpdateItem', {
        TableName,
        Key,
        ...returningOldItem,
        UpdateExpression: 'SET doctor = :other',
        ConditionExpression: 'doctor = :other',
        ExpressionAttributeValues: { ':other': { S: 'another' } },
      }),
    );
    if (done) return seen(false, 'the second write was not refused');
    const isWhole = Object.entries(item).every(([field, value]) => sameValue(before?.[field], value));
    return seen(isWhole, `the refusal has ${isWhole ? 'the item' : before ? 'another item' : 'no item'}`);
  },
};

type Value = { S?: string | undefined; N?: string | undefined };
const sameValue = (one: Value | undefined, other: Value): boolean => one?.S === other.S && one?.N === other.N;

export const customersKey: Step = {
  id: 'customers-key',
  needs: 'connection-check',
  claim:
    'A role that may use the key of kmsKeyArn for Decrypt and GenerateDataKey may read the tables that this key encrypts',
  does: 'Reads by which key the ledger’s table is encrypted, and invokes connection-check, which reads the ledger with its own role. The function also reads from the platform, as in each of its runs every 5 minutes.',
  costs: 'less than $0.01, and three calls of the platform',
  minutes: 1,
  expected: 'the key is the customer’s and enabled, and the function reads the table',
  rights: ['dynamodb:DescribeTable', 'lambda:GetFunctionConfiguration', 'lambda:InvokeFunction'],
  try: async (corner) => {
    const { dynamodb, ledgerTable: TableName, prefix } = corner.target;
    if (TableName === undefined) return notHere('The name of the ledger’s table is not known.');
    const { Table } = await dynamodb.call('DescribeTable', { TableName });
    const { SSEType, Status } = Table?.SSEDescription ?? {};
    if (SSEType !== 'KMS') return notHere('The stage sets no kmsKeyArn: its tables have a key of AWS’ own.');
    const { lambda, sdk } = await corner.lambda();
    const invoke = new sdk.InvokeCommand({ FunctionName: `${prefix}connection-check`, Payload: '{}' });
    const { Payload, FunctionError } = await lambda.send(invoke);
    const changes = JSON.parse(Payload?.transformToString() || '{}')?.changes?.refused;
    // `unknown`: the function could not read the ledger.
    const isRead = FunctionError === undefined && changes !== undefined && changes !== 'unknown';
    const read = isRead ? 'connection-check reads the table' : 'connection-check could not read the table';
    return seen(isRead && Status === 'ENABLED', `the key is ${Status}; ${read}`);
  },
};
