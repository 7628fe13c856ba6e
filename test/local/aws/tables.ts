import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import dynalite from 'dynalite';
import { request } from 'undici';
import { localRegion } from './aws.ts';
import { faultList, refusalOf, suffer } from './faults.ts';
import { listening, tellDate } from './listening.ts';
import { rememberExpressions } from './parsed-expressions.ts';
import { tableKeys } from './table-keys.ts';

/** What an item is billed by: names and texts in UTF-8, and of a number two digits to a byte and one more. */
export const bytesOf = (item: Record<string, { S?: string | undefined; N?: string | undefined }>): number =>
  Object.entries(item).reduce(
    (sum, [name, { S = '', N }]) =>
      sum + Buffer.byteLength(name + S) + (N === undefined ? 0 : Math.ceil(N.length / 2) + 1),
    0,
  );

/**
 * DynamoDB by dynalite on a free port of 127.0.0.1, with the ledger's table and, if they are named, the desk's and the crosswalk's. `POST` and `DELETE /_local/faults` on the same
 * port make its calls fail, as faults.ts tells, by action.
 */
export async function startTables(
  table: string,
  deskTable?: string,
  crosswalkTable?: string,
): Promise<{ url: string; close(): Promise<void> }> {
  tellWhatWasThere();
  rememberExpressions();
  const server = dynalite({ createTableMs: 0 });
  const faults = faultList();
  const [answer] = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];
  server.removeAllListeners('request');
  server.on('request', async (asked: IncomingMessage, response: ServerResponse) => {
    tellDate(response);
    if (asked.url === '/_local/faults') return faults.control(asked.method, await text(asked), response);
    const action = `${asked.headers['x-amz-target']}`.split('.').at(-1) ?? '';
    const fault = faults.take(action, table);
    if (fault && !(await suffer(fault, response))) return;
    const refusal = fault && refusalOf(fault);
    if (refusal === undefined || refusal === null) return answer?.(asked, response);
    const body = JSON.stringify({
      __type: `com.amazonaws.dynamodb.v20120810#${refusal.type}`,
      message: 'a local fault',
    });
    response.writeHead(refusal.status, { 'content-type': 'application/x-amz-json-1.0' }).end(body);
  });

  const { url, close } = await listening(server, faults.needsSocket);
  await addLedgerTable(url, table);
  if (crosswalkTable !== undefined) await addCrosswalkTable(url, crosswalkTable);
  if (deskTable !== undefined) await addDeskTable(url, deskTable);
  return { url, close };
}

type ConditionCheck = { ReturnValuesOnConditionCheckFailure?: string };
type Refusal = { body: { Item?: object } };

/**
 * dynalite leaves out what DynamoDB can do since 2023: a refused condition tells the item that it was checked against. Once per
 * process, as these are its own parts.
 */
function tellWhatWasThere() {
  const require = createRequire(import.meta.url);
  const db: { checkConditional(asked: ConditionCheck, there?: object): Refusal | null | undefined } =
    require('dynalite/db');
  for (const action of ['updateItem', 'putItem']) {
    const { types }: { types: Record<string, object> } = require(`dynalite/validations/${action}`);
    if (types.ReturnValuesOnConditionCheckFailure) return;
    types.ReturnValuesOnConditionCheckFailure = { type: 'String', enum: ['ALL_OLD', 'NONE'] };
  }
  const { checkConditional } = db;
  db.checkConditional = (asked, there) => {
    const refusal = checkConditional(asked, there);
    if (refusal && there && asked.ReturnValuesOnConditionCheckFailure === 'ALL_OLD')
      refusal.body.Item = there;
    return refusal;
  };
}

/** One more of them, for a ledger of its own. */
export const addLedgerTable = (url: string, table: string): Promise<void> =>
  addTable(url, table, tableKeys.ledger);
export const addCrosswalkTable = (url: string, table: string): Promise<void> =>
  addTable(url, table, tableKeys.crosswalk);
export const addDeskTable = (url: string, table: string): Promise<void> =>
  addTable(url, table, tableKeys.desk);

async function addTable(
  url: string,
  TableName: string,
  keys: (typeof tableKeys)[keyof typeof tableKeys],
): Promise<void> {
  await ask(url, 'CreateTable', { TableName, ...keys, BillingMode: 'PAY_PER_REQUEST' });
  // dynalite makes a table a moment after it has answered.
  while ((await ask(url, 'DescribeTable', { TableName })).Table?.TableStatus !== 'ACTIVE') await sleep(5);
}

/** Without a client of the SDK, which takes several times as long, and longer still to be loaded. */
async function ask(
  url: string,
  action: string,
  input: object,
): Promise<{ Table?: { TableStatus?: string } }> {
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${action}`,
      'x-amz-date': '20260101T000000Z',
      // It looks for the region alone.
      authorization: `AWS4-HMAC-SHA256 Credential=local/20260101/${localRegion}/dynamodb/aws4_request, SignedHeaders=host, Signature=none`,
    },
    body: JSON.stringify(input),
  });
  if (statusCode !== 200) throw new Error(`${action}: ${statusCode} ${await body.text()}`);
  return (await body.json()) as { Table?: { TableStatus?: string } };
}
