import { vi } from 'vitest';
import { type LetterFailure, sqsMessageOf } from '../../../../lib/delivery/letters/dead-letter.ts';
import { listLetters } from '../../../../lib/desk/messages/letters/list.ts';
import { reindexLetters } from '../../../../lib/desk/messages/letters/reindex.ts';
import { sendAll } from '../../../../lib/runtime/aws/sqs.ts';
import { waitLimitMs } from '../../../limits.ts';
import type { localOffice } from '../cli/local-office.ts';
import { eventBody, failureOf, never } from '../cli/office.ts';
import { typed } from '../cli/typed.ts';

type Office = ReturnType<typeof localOffice>;

/** Functions whose queues are polled. */
export const playedFunctions = ['grade-push', 'submission-upload', 'enrollment-create', 'enrollment-remove'];

export type Parked = {
  function?: string;
  failure?: Partial<LetterFailure>;
  data?: object;
  replays?: number;
  body?: string;
};

/** Parks letters as functions do, and lists them; answers their ids. */
export const park = async (office: Office, letters: Parked[]): Promise<string[]> => {
  const { sqs, description } = office.stack();
  const { messageIds } = await sendAll(
    { sqs, url: description.deadLetters },
    letters.map(({ function: name = 'grade-push', failure = {}, data, replays = 0, body }) => {
      const { MessageBody, MessageAttributes } = sqsMessageOf({
        body: body ?? eventBody(name, data),
        replays,
        attributes: {},
        source: `arn:aws:sqs:us-east-1:000000000000:sis-relay-local-${name}`,
        failure: { ...failureOf(name, failure.kind), ...timesOf(), ...failure },
      });
      return { body: MessageBody, attributes: MessageAttributes };
    }),
  );
  await reindexLetters(office.target(), { signal: never, settleMs: 0 });
  return messageIds.map((id) => id ?? '');
};

const timesOf = () => ({
  firstAt: new Date(Date.now() - 120_000).toISOString(),
  lastAt: new Date().toISOString(),
});

const many = (count: number, letter: (at: number) => Parked): Parked[] =>
  Array.from({ length: count }, (_, at) => letter(at));

/** Letters of several kinds, as after a weekend; users from 10,000 on. */
const weekend: Parked[] = [
  ...many(6, (at) => ({
    data: { userId: 10_000 + at },
    failure: {
      kind: 'missing-scope',
      status: 403,
      title: 'Not Authorized',
      required: 'grades:gradevalues:write',
      detail: 'Insufficient scope to call API. Required: grades:gradevalues:write',
      message:
        'The platform answered PUT /svc/api/le/1.82/2001/grades/5001/values/301 with 403 Not Authorized',
      remedy: 'Grant the client the scope grades:gradevalues:write, then replay.',
    },
  })),
  ...many(4, (at) => ({
    function: 'enrollment-create',
    data: { userId: 11_000 + at },
    failure: {
      kind: 'missing-permission',
      status: 403,
      title: 'Forbidden',
      detail: 'Not authorized for [ orgUnitId: 2001, securityVariableName: EnrollUsers ]',
      message: 'The platform answered POST /svc/api/lp/1.51/enrollments/ with 403 Forbidden',
      remedy: 'Give the role of the service’s user the permission EnrollUsers, then replay.',
      operation: 'POST /svc/api/lp/1.51/enrollments/',
    },
  })),
  ...many(3, (at) => ({
    data: { userId: 12_000 + at },
    failure: {
      kind: 'unavailable',
      message:
        'The platform answered PUT /svc/api/le/1.82/2001/grades/5001/values/301 with 503 Service Unavailable',
      remedy: 'Wait until the platform answers again, then replay.',
      status: 503,
      title: 'Service Unavailable',
      attempts: 31,
    },
    replays: 5,
  })),
  ...many(2, (at) => ({
    data: { userId: 13_000 + at },
    failure: {
      kind: 'outdated',
      message: 'The message is older than the ledger remembers, so something newer may have been done since',
      remedy: 'Look what the platform holds, then replay or discard.',
    },
  })),
];

const uncertain = (userId: number): Parked => ({
  function: 'submission-upload',
  data: { userId },
  failure: {
    kind: 'uncertain',
    message:
      'No answer came to POST /svc/api/le/1.82/2001/dropbox/folders/7001/submissions/mysubmissions/, so it is not known whether it was done',
    remedy: 'Look on the platform whether the submission is there, then discard or replay.',
    operation: 'POST /svc/api/le/1.82/2001/dropbox/folders/7001/submissions/mysubmissions/',
  },
});

/** Letters of several kinds, what waits, a function that is paused, a letter that was edited and came back, an archive. */
export const playDesk = async (office: Office) => {
  const { description } = office.stack();
  const stack = `--stack ${office.file} --as jane`;
  await office.enrol([10_000, 10_001, 10_002, 10_003, 10_004, 10_005, 14_000]);
  const [edited = '', discarded = '', unknown = '', ...others] = await park(office, [
    { data: { gradeObjectId: 5999, userId: 14_000, grade: { type: 'numeric', points: 12 } } },
    { data: { userId: 14_001 } },
    uncertain(303),
    uncertain(301),
    ...weekend,
  ]);
  const wrongKey = { type: 'id-key', appId: 'local-app', appKey: 'local-app-key', userKey: 'a wrong one' };
  const { userPrefix } = description.secrets;
  await office.controls().secret(`${userPrefix}15000`, { ...wrongKey, userId: '15000' });
  await Promise.all([
    ...[0, 1, 2].map((at) =>
      office.send('submission-upload', {
        userId: 15_000,
        files: [
          {
            uri: 's3://sis-relay-uploads/events/essay.pdf',
            name: `Essay ${at}.pdf`,
            contentType: 'application/pdf',
          },
        ],
      }),
    ),
    office.send('submission-upload', { userId: 302 }),
    office.send('grade-push', { gradeObjectId: 5999, userId: 10_000 }),
    office.send('grade-push', { grade: null, userId: 10_001 }),
  ]);
  const command = async (line: string): Promise<void> => {
    const { status, err, out } = await typed(`${line} ${stack}`, { answers: ['y', 'y'] });
    if (status !== 0 && status !== 1) throw new Error(err + out);
  };
  await command('pause enrollment-remove --reason "the registrar repairs its export"');
  await command(`letters discard --id ${discarded} --reason "entered by hand" --yes`);
  await command(
    `letters edit --id ${edited} --reason "points above the maximum" --set data.grade.points=7 --yes`,
  );
  const cameBack = await vi.waitFor(
    async () => {
      const { letters } = await listLetters(office.target(), { filter: {}, limit: 1000 }, { signal: never });
      const back = letters.find(({ replays, user }) => replays === 1 && String(user) === '14000');
      if (back === undefined || !letters.some(({ kind }) => kind === 'missing-credential'))
        throw new Error('not yet');
      return back.id;
    },
    { timeout: waitLimitMs, interval: 200 },
  );
  await vi.waitFor(
    async () => {
      const { status } = await typed(`waiting --kind credentials ${stack}`);
      if (status !== 0) throw new Error('nothing waits yet');
    },
    { timeout: waitLimitMs, interval: 200 },
  );
  return { edited: cameBack, uncertain: unknown, others };
};
