import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ReceivedRequest = {
  path: string;
  query: Record<string, string>;
  headers: IncomingMessage['headers'];
  method: string;
};
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A source of changes, on a port of its own: it pages as Ethos does, unless it is told to answer otherwise. */
export async function startChanges() {
  let notices: object[] = [];
  const asked: ReceivedRequest[] = [];
  const answers: Answer[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://changes');
    const query = Object.fromEntries(searchParams);
    asked.push({ path: pathname, query, headers: request.headers, method: request.method ?? '' });
    const answer = answers.shift();
    if (answer) return answer(request, response);
    const from = notices.findIndex((each) => String(Object(each).id) === query.lastProcessedID) + 1;
    const page = notices.slice(from, from + Number(query.limit));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/changes`,
    asked,
    /** What there is from now on. */
    has: (all: object[]) => {
      notices = all;
      asked.length = 0;
      answers.length = 0;
    },
    /** How the next requests are answered. */
    answers: (...next: Answer[]) => answers.push(...next),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const registration = (id: string | number, more: object = {}) => ({
  id,
  published: '2026-03-17T14:05:00Z',
  resource: { name: 'section-registrations', id: '0f6c1a52', version: 'application/json' },
  operation: 'created',
  contentType: 'resource-representation',
  content: { section: { code: 2001 }, registrant: { platformId: 303 }, status: 'registered' },
  ...more,
});

/** By the platform's ids, so that nothing must be looked up. */
export const mapping = {
  messages: [
    {
      function: 'enrollment-create',
      resource: 'section-registrations',
      operations: ['created', 'replaced'],
      when: { 'content.status': ['registered'] },
      data: {
        orgUnitId: 'content.section.code',
        userId: 'content.registrant.platformId',
        roleId: { value: 110 },
      },
    },
    {
      function: 'enrollment-remove',
      resource: 'section-registrations',
      operations: ['deleted'],
      data: { orgUnitId: 'content.section.code', userId: 'content.registrant.platformId' },
    },
  ],
};
