import type { Context, SQSBatchResponse } from 'aws-lambda';
import { integration as enrollmentCreate } from '../../functions/enrollment-create.ts';
import { integration as enrollmentRemove } from '../../functions/enrollment-remove.ts';
import { integration as gradeObjectCreate } from '../../functions/grade-object-create.ts';
import { integration as gradeObjectUpdate } from '../../functions/grade-object-update.ts';
import { integration as gradePush } from '../../functions/grade-push.ts';
import { integration as submissionUpload } from '../../functions/submission-upload.ts';
import { createCrosswalk } from '../../lib/crosswalk/look-up.ts';
import { handlerOf } from '../../lib/delivery/handle/handler.ts';
import type { Integration } from '../../lib/delivery/handle/integration.ts';
import type { Services } from '../../lib/delivery/handle/services.ts';
import type { OpenChange, ResourceState } from '../../lib/delivery/ledger/item.ts';
import { TableLedger } from '../../lib/delivery/ledger/ledger.ts';
import type { LedgerTable } from '../../lib/delivery/ledger/table.ts';
import type { MessageReport } from '../../lib/runtime/telemetry/observe.ts';
import { limitsForTests } from '../lib/delivery/handle/services-for-tests.ts';
import { containers, type History, type PlayedOutcome } from './history.ts';
import { createPlatformModel, fileBytes, type TaggedPlatform } from './platform.ts';
import { type Copy, createQueueModel, visibilityMs } from './queue.ts';
import { type Actor, createStage, type Effect } from './stage.ts';
import { createTableModel } from './table.ts';

/** The functions of a family, in turn: each container runs one of them. */
const families = {
  enrollments: [enrollmentCreate, enrollmentRemove],
  grades: [gradePush],
  submissions: [submissionUpload],
  objects: [gradeObjectCreate, gradeObjectUpdate, gradePush, gradeObjectCreate],
} as unknown as Record<History['family'], Integration<unknown>[]>;

/** The calls of each message carry its number, which they do not tell by themselves. */
const tagged = (integration: Integration<unknown>): Integration<unknown> => {
  const numbers = new WeakMap<object, number>();
  return {
    ...integration,
    resource: (data, message) => {
      numbers.set(data as object, Number(message.id));
      return integration.resource(data, message);
    },
    run: (data, context) => {
      const platform = (context.platform as TaggedPlatform).as(numbers.get(data as object) ?? 0);
      return integration.run(data, { ...context, platform });
    },
  };
};

const nothing = () => {};
const silence = {
  begin: nothing,
  info: nothing,
  warn: nothing,
  call: nothing,
  slotWait: nothing,
  flush: nothing,
  failed: nothing,
  count: nothing,
};

/** Of the functions. */
export const timeoutMs = 60_000;
const limits = limitsForTests({
  // No jitter, so that a history is the same each time.
  backoff: { minimumSeconds: 10, maximumSeconds: 600, random: () => 0 },
  fileBytes: 1_000,
  visibilityMs,
});

/** AWS' client gives up a call after so long. */
const awsMs = 8_000;

export type Container = Actor & {
  /** The name of the function that it runs. */
  runs: string;
  invoke: ReturnType<typeof handlerOf>;
  /** What it works on; undefined: nothing. */
  batch: Copy[] | undefined;
};

/** What tells whether all is well, while it happens. */
export type Watch = {
  /** A copy is about to be taken off the queue, after what was last reported of it. */
  onGone(copy: Copy, report: MessageReport | undefined): void;
  problem(text: string): void;
};

/** Everything that the functions touch, in memory and on a clock of its own; and the functions, as they are. */
export function createWorld(history: History, watch: Watch) {
  const integrations = families[history.family].map(tagged);
  const mended = new Set<number>();
  /** By copy: how often something befell it after which it must come again without having failed. */
  const misfortunes = new Map<string, number>();
  const reports = new Map<string, MessageReport>();
  const reached = new Set<string>();
  let ledgerFaults = 0;

  const befall = (batch: Copy[] | undefined) => {
    for (const { messageId } of batch ?? [])
      misfortunes.set(messageId, (misfortunes.get(messageId) ?? 0) + 1);
  };
  const stage = createStage(history.seed, (actor) => {
    const at = pool.indexOf(actor as Container);
    if (at < 0) return;
    befall(pool[at]?.batch);
    pool[at] = start(at);
  });
  const queue = createQueueModel(stage);
  const misfortunesOf = (message: number): number =>
    queue.copies
      .filter((copy) => copy.message === message)
      .reduce((sum, { messageId }) => sum + (misfortunes.get(messageId) ?? 0), 0);
  const table = createTableModel(stage.nowMs);
  const platform = createPlatformModel(stage, {
    lookalike: history.lookalike,
    callMs: limits.attemptTimeoutMs,
    copiesOf: (actor, message) =>
      (pool.find((each) => each === actor)?.batch ?? []).filter((copy) => copy.message === message),
    deadly: (message) => history.messages[message - 1]?.deadly === true && !mended.has(message),
  });

  /** Something of AWS, whose errors are all of one kind: whether it was carried out, they do not tell. */
  const aws = <Answer>(
    actor: Actor,
    kind: Effect<Answer>['kind'],
    rest: Pick<Effect<Answer>, 'apply' | 'onFate'>,
  ): Promise<Answer> => {
    const error = () => Object.assign(new Error('failed'), { $metadata: {} });
    const endsMs = stage.nowMs() + awsMs;
    return stage.external(actor, { kind, endsMs, ...rest, refusal: error, silence: error });
  };

  /** Undefined of one whose function died: the ledger knows it by a digest. */
  const messageOf = ({ version }: OpenChange): number | undefined =>
    Number(version.split('\u0001')[2] ?? version.split('/').at(-1)) || undefined;

  /** That a container had to leave a lock behind is not a death of its message. */
  const judgeDeaths = ({ fields }: ResourceState) => {
    for (const { open } of Object.values(fields)) {
      const message = open && messageOf(open);
      if (message !== undefined && open && open.crashes > misfortunesOf(message) + ledgerFaults)
        watch.problem(`message ${message} is said to have died ${open.crashes} times`);
    }
  };
  const tableOf = (actor: Actor): LedgerTable => {
    const faulty = (...fates: PlayedOutcome[]) => ({
      onFate: (outcome: PlayedOutcome) => {
        if (fates.includes(outcome)) ledgerFaults += 1;
      },
    });
    const lost = ['refused', 'cut', 'lost', 'late'] as const;
    return {
      take: (resource, taking) =>
        aws(actor, 'ledger', { apply: () => table.take(resource, taking), ...faulty('late') }),
      replace: (resource, expectedLockId, item) => {
        judgeDeaths(item);
        const apply = () => table.replace(resource, expectedLockId, item);
        return aws(actor, 'ledger', { apply, ...faulty(...lost) });
      },
      release: (resource, taking) =>
        aws(actor, 'ledger', { apply: () => table.release(resource, taking), ...faulty(...lost) }),
    };
  };

  const servicesOf = (actor: Container): Services => ({
    platform: platform.clientOf(actor),
    files: { open: async () => ({ bytes: fileBytes, stream: () => (async function* () {})() }) },
    crosswalk: createCrosswalk({ table: undefined, nowMs: stage.nowMs }),
    readSecret: async () => Promise.reject(new Error('no secret was to be read')),
    queues: {
      writeLetter: (letter) =>
        aws(actor, 'letter', {
          apply: () => queue.park(numberOf(letter.body), letter),
          onFate: (outcome) => {
            if (outcome !== 'well' && outcome !== 'twice')
              befall(actor.batch?.filter(({ body }) => body === letter.body));
          },
        }),
      delay: (delays) =>
        aws(actor, 'visibility', {
          apply: () => {
            for (const { messageId, seconds } of delays) queue.delay(messageId, seconds);
          },
        }).catch(() => undefined),
    },
    ledger: new TableLedger({
      table: tableOf(actor),
      lateEffectMs: 60_000,
      warn: () => {},
      nowMs: stage.nowMs,
    }),
    digest: async (parts) => parts.join(' '),
    observe: {
      ...silence,
      message: (report) => {
        reports.set(report.messageId, report);
        reached.add(`${report.outcome}${report.kind ? ` ${report.kind}` : ''}`);
      },
      error: (text, _, error) => watch.problem(`${text}: ${error}`),
    } as Services['observe'],
    limits,
    nowMs: stage.nowMs,
  });

  function start(at: number): Container {
    const integration = integrations[at % integrations.length] as Integration<unknown>;
    const container: Container = {
      name: `container ${at}`,
      runs: integration.name,
      alive: true,
      batch: undefined,
      invoke: handlerOf(integration, () => services),
    };
    const services = servicesOf(container);
    return container;
  }

  /** Takes off the queue what the function does not want to see again, if its answer comes through. */
  const acknowledge = (batch: Copy[], { batchItemFailures }: SQSBatchResponse) => {
    const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    const gone = batch.filter(({ messageId }) => !failed.has(messageId));
    const poller = { name: 'poller', alive: true };
    const apply = () => {
      for (const copy of gone) {
        watch.onGone(copy, reports.get(copy.messageId));
        copy.gone = true;
      }
    };
    const onFate = (outcome: PlayedOutcome) => {
      for (const copy of gone) copy.answered = false;
      if (outcome !== 'well' && outcome !== 'twice') befall(gone);
    };
    for (const copy of gone) copy.answered = true;
    aws(poller, 'response', { apply, onFate }).catch(() => undefined);
  };

  const pool: Container[] = Array.from({ length: containers }, (_, at) => start(at));

  /** Has a container handle these, as far as it is idle. */
  const invoke = (container: Container, batch: Copy[]) => {
    if (container.batch !== undefined || batch.length === 0) return;
    container.batch = batch;
    const endMs = stage.nowMs() + timeoutMs;
    const ifStill = (act: (actor: Actor) => void) => () => {
      if (container.batch === batch) act(container);
    };
    stage.at(endMs - limits.reserveMs, ifStill(stage.cut));
    stage.at(endMs, ifStill(stage.kill));
    const context = { getRemainingTimeInMillis: () => endMs - stage.nowMs() } as Context;
    for (const { messageId } of batch) reports.delete(messageId);
    container.invoke({ Records: batch.map(queue.receive) }, context).then(
      (response) => {
        container.batch = undefined;
        acknowledge(batch, response);
      },
      (error) => watch.problem(`the handler threw ${error}`),
    );
  };

  return {
    stage,
    queue,
    platform,
    pool,
    mended,
    misfortunesOf,
    ledgerFaults: () => ledgerFaults,
    reached,
    befall,
    invoke,
  };
}

/** Of a message, from its body. */
export const numberOf = (body: string): number => Number(JSON.parse(body).id);
