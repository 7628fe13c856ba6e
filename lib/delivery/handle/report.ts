import { eventIdIn } from '../../message/message.ts';
import { messageIdText, safe } from '../../message/safe-text.ts';
import { withoutFileNames } from '../../runtime/privacy/file-name.ts';
import type { ReceivedRecord, RecordOutcome } from './attempt.ts';
import type { Services } from './services.ts';
import { ageMs, waitedMs } from './sqs-delivery.ts';

type FinalOutcome = Exclude<RecordOutcome, { outcome: 'isolate' }>;

/** Reports a message's outcome to the log, the metrics, the incidents and the pace's record. */
export const report = (
  result: FinalOutcome,
  { record, delivery }: ReceivedRecord,
  { services, asService, isUnread }: { services: Services; asService: boolean; isUnread: boolean },
): void => {
  const { outcome, calls, eventId, turnMs } = result;
  const failure = 'failure' in result ? result.failure : undefined;
  const said = 'reason' in result ? result.reason : failure?.message;
  const reason = said && withoutFileNames(said);
  const { attempts, replays } = delivery;
  const last = calls.at(-1);
  // The producer needs the id even of a message that is not valid.
  const shownEventId = eventId ?? (isUnread ? undefined : eventIdIn(record.body));
  services.incidents?.record({
    outcome,
    failure: failure && { ...failure, message: reason ?? safe`` },
    calls,
    asService,
    again: attempts + replays > 1,
  });
  services.arrivals?.record({ attempts, replays });
  services.callUsage?.record(calls);
  services.observe.message({
    outcome,
    messageId: messageIdText(record.messageId),
    eventId: shownEventId === undefined ? undefined : messageIdText(shownEventId),
    kind: failure?.kind,
    reason,
    operation: failure?.operation ?? last?.call,
    status: failure?.status ?? last?.status,
    requestId: failure?.requestId,
    attempts,
    replays,
    requests: calls.length,
    platformMs: Math.round(calls.reduce((sum, { durationMs }) => sum + durationMs, 0)),
    durationMs: services.nowMs() - delivery.startedMs - turnMs,
    turnMs: turnMs > 0 ? turnMs : undefined,
    ageSeconds: Math.round(ageMs(delivery) / 1000),
    waitedSeconds: Math.round(waitedMs(delivery) / 1000),
    waitSeconds: outcome === 'waiting' ? result.seconds : undefined,
  });
};
