import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';

export type Generated = { items: number; orgUnits: number; nowMs: number };

const [firstOrgUnit, firstUser] = [20_001, 100_001];
/** As DynamoDB counts it, before its answer is written as JSON. */
const pageBytes = 1024 ** 2;
const hourMs = 3_600_000;

/** Of five items one is of an enrollment, and of ten one was written in the last day. */
const isEnrollment = (at: number): boolean => at % 5 === 0;
export const isRecent = (at: number): boolean => at % 10 === 3;

const pool = randomBytes(3 * 1024 ** 2).toString('base64url');
const bits = (length: number, seed: number): string => {
  const from = (seed * 40_503) % (pool.length - 64);
  return pool.slice(from, from + length);
};

const fields = { grade: ['grade', 'comments', 'privateComments'], enrollment: ['whole'] };

/** What a scan answers of an item as the ledger writes it, as JSON, and how many bytes DynamoDB counts of all of it. */
const itemAt = (at: number, { orgUnits, nowMs }: Generated): [json: string, bytes: number] => {
  const [orgUnit, user] = [firstOrgUnit + (at % orgUnits), firstUser + Math.floor(at / orgUnits)];
  const kind = isEnrollment(at) ? 'enrollment' : 'grade';
  const claimedMs = nowMs - (isRecent(at) ? 1 : 48) * hourMs;
  const resource =
    kind === 'grade' ? `grade/${orgUnit}/${orgUnit + 500_000}/${user}` : `enrollment/${orgUnit}/${user}`;
  let json = `{"resource":{"S":"${resource}"},"claimId":{"S":"${bits(12, at + 1)}"},"expires":{"N":"${Math.floor(nowMs / 1_000) + 900_000}"}`;
  for (const [nth, name] of fields[kind].entries())
    json += `,"v_${name}":{"S":"${bits(60, at + 2)}"},"s_${name}":{"S":"{\\"messageId\\":\\"${bits(36, at + 3)}\\",\\"claimedMs\\":${claimedMs},\\"digest\\":\\"HPm4${bits(22, at + 4 + nth)}\\"}"}`;
  return [`${json}}`, bytesOf[kind]];
};

/** As of items that the functions write: with the versions of each field, the last messages, and the lock. */
const bytesOf = { grade: 800, enrollment: 353 };

const indexOf = (resource: string, orgUnits: number): number => {
  const ids = resource.split('/').slice(1).map(Number);
  return ((ids.at(-1) ?? 0) - firstUser) * orgUnits + (ids[0] ?? 0) - firstOrgUnit;
};

/** A server that answers scans of a ledger as DynamoDB does, page by page. It holds no item. */
export const startGeneratedLedger = async (generated: Generated) => {
  const scanned = { pages: 0, bytes: 0 };
  const pageFrom = (first: number, end: number): string => {
    const items: string[] = [];
    let [at, bytes] = [first, 0];
    for (; at < end && bytes < pageBytes; at += 1) {
      const [json, counted] = itemAt(at, generated);
      items.push(json);
      bytes += counted;
    }
    scanned.pages += 1;
    scanned.bytes += bytes;
    const [key] = at < end ? (/"resource":\{[^}]*\}/.exec(items.at(-1) ?? '') ?? []) : [];
    return `{"Items":[${items.join(',')}]${key === undefined ? '' : `,"LastEvaluatedKey":{${key}}`}}`;
  };
  const server = createServer(async (request, response) => {
    const { Segment, TotalSegments, ExclusiveStartKey } = JSON.parse(await text(request));
    const edge = (segment: number): number => Math.floor((generated.items * segment) / TotalSegments);
    const last = ExclusiveStartKey && indexOf(ExclusiveStartKey.resource.S, generated.orgUnits);
    const body = Buffer.from(pageFrom(last === undefined ? edge(Segment) : last + 1, edge(Segment + 1)));
    response.writeHead(200, { 'x-amz-crc32': crc32(body), 'content-length': body.length }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    scanned,
    close: () => new Promise((closed) => server.close(closed).closeAllConnections()),
  };
};
