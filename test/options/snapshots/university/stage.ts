import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { typed } from '../../../lib/desk/cli/typed.ts';
import { localClient } from '../../../local/aws/aws.ts';
import { filesIn } from '../../../local/bucket.ts';
import { controlsOf, type PlatformState } from '../../../local/controls.ts';
import { takeLetters, untilLeft } from '../../../local/queues.ts';
import { attemptsIn } from '../../../local/scenarios/play.ts';
import { startStack } from '../../../local/stack.ts';
import { tablesCompared } from './judge.ts';
import { roleIds, type Sis } from './sis.ts';

/** The record of a snapshot, as far as it is judged. */
export type JudgedRecord = {
  id: string;
  state: string;
  byKind: Record<string, Counts>;
  counts: Counts;
  why?: string;
  sent: number;
  of: number;
  decided?: { decision: string };
};
type Counts = Record<'created' | 'updated' | 'removed' | 'unchanged' | 'refused', number>;

export type Stage = Awaited<ReturnType<typeof setStage>>;

const importer = 'snapshot-import';
/** Longer, and something hangs. */
const longestMs = 1_200_000;
const integrations = [
  'enrollment-create',
  'enrollment-remove',
  'grade-push',
  'grade-object-create',
  'grade-object-update',
];
/** Of a busy machine nothing may be repeated for want of an answer: it would be written twice. */
const patience = {
  functionTimeoutMs: 60_000,
  visibilitySeconds: 120,
  settings: {
    ATTEMPT_TIMEOUT_MS: '40000',
    PLATFORM_HEADERS_TIMEOUT_MS: '30000',
    PLATFORM_BODY_TIMEOUT_MS: '30000',
  },
};

/** The whole of sis-relay on this machine, and the platform of the university, on which nobody is enrolled yet. */
export const setStage = async (sis: Sis) => {
  const done = new Map<string, Set<string>>();
  const waits = new Map<string, number>();
  /** What was said last of messages that have not ended. */
  const open = new Map<string, string>();
  const troubles: string[] = [];
  const stack = await startStack({
    functions: integrations,
    ...patience,
    onLog: (name, line) => {
      for (const { eventId = '', outcome, kind, reason } of attemptsIn(line)) {
        const all = done.get(name) ?? new Set();
        done.set(name, all);
        if (outcome === 'done' && all.has(eventId)) troubles.push(`${name}: ${eventId} is done twice`);
        if (outcome === 'done') all.add(eventId);
        if (outcome === 'waiting') open.set(`${name} ${eventId}`, `${kind}: ${reason}`);
        else open.delete(`${name} ${eventId}`);
        if (outcome === 'superseded') troubles.push(`${name}: ${eventId} is superseded: ${reason}`);
        if (outcome === 'waiting') waits.set(`${name}: ${kind}`, (waits.get(`${name}: ${kind}`) ?? 0) + 1);
      }
    },
    onError: ({ message }) => troubles.push(message),
  });
  const { description, lambda } = stack;
  const controls = controlsOf(description);
  const s3 = new S3Client({ ...localClient(description.s3), forcePathStyle: true });
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-university-'));
  const file = join(folder, 'stack.json');
  writeFileSync(file, JSON.stringify(description));

  const { put, jsonAt, keysUnder } = filesIn(() => ({ s3, description }));

  /** As operators type it. */
  const command = async (line: string): Promise<string> => {
    const { status, out, err } = await typed(`${line} --stack ${file}`);
    if (status !== 0) throw new Error(`sis-relay ${line} ended with ${status}: ${err}${out}`);
    return out;
  };

  /** The record of the snapshot that was dropped then, as the import writes it. */
  const record = async (droppedAt: string): Promise<JudgedRecord | undefined> => {
    const keys = await keysUnder(`snapshot-records/${droppedAt.replace(/[-:]|\.\d+/g, '')}`);
    const key = keys.find((each) => each.endsWith('/record.json'));
    return key && jsonAt(key);
  };

  const until = async <Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> => {
    const giveUpMs = performance.now() + longestMs;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (performance.now() > giveUpMs) throw new Error(`${what} did not come within ${longestMs / 1000} s`);
      await sleep(50);
    }
  };

  const tellUsers = async (): Promise<void> => {
    const people = [...sis.people.values()];
    // Accounts come from elsewhere: they are on the platform before the night.
    await controls.seed({
      users: people.map(({ platformId, userName, family, given, number }) => ({
        userId: platformId,
        userName,
        firstName: given,
        lastName: family,
        orgDefinedId: number,
      })),
    });
    const rows = people.map(({ platformId, userName, number }) => `${platformId},${userName},${number}`);
    await put('crosswalk/users.csv', `${['userId,userName,orgDefinedId', ...rows].join('\n')}\n`);
    const filled = await lambda?.invoke('crosswalk-fill', { acceptRemovals: true });
    if (!filled?.ok) throw new Error(`crosswalk-fill: ${JSON.stringify(filled?.error)}`);
  };

  await controls.seed({
    roles: [{ roleId: roleIds.aide, name: 'Teaching assistant' }],
    orgUnits: [
      ...[...sis.classes.values()].map(({ platformId, code, title }) => ({
        orgUnitId: platformId,
        code,
        name: title,
      })),
    ],
  });
  await put(
    'snapshot-settings.json',
    JSON.stringify({ roles: roleIds, user: { field: 'userName', column: 'username' } }),
  );
  await tellUsers();
  const before = await controls.state(...tablesCompared);

  return {
    /** What the platform held before. */
    before,
    troubles,
    /** How often messages waited, by function and reason. */
    waits,
    command,
    state: (): Promise<PlatformState> => controls.state(...tablesCompared),

    drop: async (name: string, zip: Uint8Array, droppedAt: string): Promise<void> => {
      await controls.calendar(droppedAt);
      await put(`snapshots/${name}.zip`, zip);
    },

    /** When it has ended, or waits for a person. */
    settled: (droppedAt: string, states: readonly string[]): Promise<JudgedRecord> =>
      until(`the end of the import of ${droppedAt}`, async () => {
        const found = await record(droppedAt);
        return found && states.includes(found.state) ? found : undefined;
      }),

    /** When nothing is queued any more. */
    quiet: (): Promise<void> =>
      untilLeft(stack, 0).catch((error) => {
        const said = [...open].map(([message, why]) => `\n  ${message}: ${why}`);
        throw new Error(`${error.message}${said.slice(0, 20).join('')}`);
      }),

    /** How many messages of a snapshot have had their effect, by function. */
    effects: (id: string): Record<string, number> =>
      Object.fromEntries(
        integrations.map((name) => {
          const own = [...(done.get(name) ?? [])].filter((eventId) => eventId.startsWith(`${id}/`));
          return [name, own.length];
        }),
      ),
    allEffects: (): number => [...done.values()].reduce((sum, { size }) => sum + size, 0),

    /** Ends the import's process while it works, so many milliseconds after it has begun to; false: it was over already. */
    kill: async (phase: 'compare' | 'send', droppedAt: string, afterMs: number): Promise<boolean> => {
      const isIn = phase === 'compare' ? ['comparing'] : ['sending'];
      const begun = await until(`the phase ${phase}`, async () => {
        const found = await record(droppedAt);
        if (found === undefined) return undefined;
        if (!['comparing', 'waiting-for-approval', 'sending'].includes(found.state)) return 'over';
        return isIn.includes(found.state) ? 'begun' : undefined;
      });
      if (begun === 'over') return false;
      await sleep(afterMs);
      const busy = lambda?.containers(importer).find((each) => each.busy);
      if (busy !== undefined) process.kill(busy.pid, 'SIGKILL');
      return busy !== undefined;
    },

    takeLetters: () => takeLetters(stack),

    close: async (): Promise<void> => {
      s3.destroy();
      rmSync(folder, { recursive: true, force: true });
      await stack.close();
    },
  };
};
