import { setTimeout as sleep } from 'node:timers/promises';
import { countsOf } from '../../lib/operate/messages/letters/queue.ts';
import { sendAll } from '../../lib/runtime/aws/sqs.ts';
import { controlsOf } from '../local/controls.ts';
import { event } from '../local/scenarios.ts';
import { type Stack, startStack } from '../local/stack.ts';

// The term start in small, and live: real queues, containers and HTTP, and a platform that takes 600 calls a minute.

const callsPerMinute = 600;
const creditsPerCall = 10;
const maxRefused = 0.01;

type LiveLoad = { enrollments: number; grades: number };
type LiveResult = {
  requests: number;
  refused: number;
  seconds: number;
  letters: number;
  left: number;
};

const waitingIn = async ({ sqs }: Stack, url = ''): Promise<number> => {
  const { visible, inFlight } = await countsOf({ sqs, url });
  return visible + inFlight;
};

/** Sends all at once, and waits until the queues are empty, for twice the least time possible at most. */
const liveTermStart = async (
  { enrollments, grades }: LiveLoad,
  say: (line: string) => void = () => {},
): Promise<LiveResult> => {
  const stack = await startStack({
    functions: ['enrollment-create', 'grade-push'],
    containersPerFunction: 2,
  });
  try {
    const controls = controlsOf(stack.description);
    const users = Array.from({ length: Math.max(enrollments, grades) }, (_, at) => 10_001 + at);
    await controls.seed({ users: users.map((userId) => ({ userId })) });
    await controls.rateLimit(callsPerMinute * creditsPerCall);
    const { queues, deadLetters } = stack.description;
    const bodies = {
      'enrollment-create': users
        .slice(0, enrollments)
        .map((userId) => event('enrollment-create', { orgUnitId: 2001, userId, roleId: 110 })),
      'grade-push': users.slice(0, grades).map((userId, at) =>
        event('grade-push', {
          ...{ orgUnitId: 2001, gradeObjectId: 5001, userId },
          ...{ grade: { type: 'numeric', points: at % 10 }, comments: '', privateComments: '' },
        }),
      ),
    };
    const startedMs = Date.now();
    for (const [name, all] of Object.entries(bodies))
      await sendAll(
        { sqs: stack.sqs, url: queues[name] ?? '' },
        all.map((body) => ({ body, attributes: {} })),
      );
    const left = async (): Promise<number> => {
      const counts = Object.keys(bodies).map((name) => waitingIn(stack, queues[name]));
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    };
    const untilMs = startedMs + 60_000 + (2 * 60_000 * (enrollments + grades)) / callsPerMinute;
    let waiting = await left();
    for (let told = 0; waiting > 0 && Date.now() < untilMs; told += 1) {
      await sleep(500);
      waiting = await left();
      if (told % 20 === 19) say(`${Math.round((Date.now() - startedMs) / 1000)} s: ${waiting} messages left`);
    }
    const requests = await controls.requests();
    return {
      requests: requests.length,
      refused: requests.filter(({ status }) => status === 429).length,
      seconds: (Date.now() - startedMs) / 1000,
      letters: await waitingIn(stack, deadLetters),
      left: waiting,
    };
  } finally {
    await stack.close();
  }
};

/** The exit status is 0 exactly if all arrived and at most one request in a hundred was refused. */
export const runLive = async (): Promise<void> => {
  const load = { enrollments: 2_000, grades: 100 };
  console.log(
    `${load.enrollments} enrollments and ${load.grades} grades, on a platform that takes ${callsPerMinute} calls a minute`,
  );
  const { requests, refused, seconds, letters, left } = await liveTermStart(load, console.log);
  const least = (60 * requests) / callsPerMinute;
  console.log(
    `${requests} requests in ${seconds.toFixed(0)} s (at least ${least.toFixed(0)} s), ${refused} of them refused (${((100 * refused) / requests).toFixed(2)} %); ${letters} letters, ${left} messages left`,
  );
  process.exitCode = refused <= maxRefused * requests && letters + left === 0 ? 0 : 1;
};
