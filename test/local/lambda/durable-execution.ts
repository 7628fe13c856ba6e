import { randomUUID } from 'node:crypto';

/** What AWS allows an execution. */
const quotas = { operations: 3_000, resultBytes: 256 * 1024, writtenBytes: 100 * 1024 ** 2 };

export type Update = {
  Id: string;
  ParentId?: string;
  Name?: string;
  Type: 'STEP' | 'CONTEXT' | 'WAIT' | 'CALLBACK' | 'EXECUTION';
  SubType?: string;
  Action: 'START' | 'SUCCEED' | 'FAIL' | 'RETRY' | 'CANCEL';
  Payload?: string;
  Error?: object;
  ContextOptions?: { ReplayChildren?: boolean };
  StepOptions?: { NextAttemptDelaySeconds?: number };
  WaitOptions?: { WaitSeconds?: number };
  /** 0 is none. */
  CallbackOptions?: { TimeoutSeconds?: number };
};

export type Operation = {
  Id: string;
  ParentId?: string | undefined;
  Name?: string | undefined;
  Type: Update['Type'];
  SubType?: string | undefined;
  Status: 'STARTED' | 'PENDING' | 'READY' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT';
  StartTimestamp: Date;
  EndTimestamp?: Date;
  ExecutionDetails?: { InputPayload: string };
  ContextDetails?: { Result?: string | undefined; Error?: object | undefined; ReplayChildren?: boolean };
  StepDetails?: {
    Attempt: number;
    NextAttemptTimestamp?: Date | undefined;
    Result?: string | undefined;
    Error?: object | undefined;
  };
  WaitDetails?: { ScheduledEndTimestamp: Date };
  CallbackDetails?: { CallbackId: string; Result?: string | undefined; Error?: object | undefined };
};

/** What somebody outside says to a callback. */
export type CallbackAnswer = { verb: 'succeed' | 'fail'; body: string };

/** What a client is refused with. */
export class Refusal extends Error {
  constructor(message: string, name = 'InvalidParameterValueException') {
    super(message);
    this.name = name;
  }
}

export type DurableExecution = ReturnType<typeof newExecution>;

const isOver = ({ Status }: Operation): boolean =>
  ['SUCCEEDED', 'FAILED', 'CANCELLED', 'TIMED_OUT'].includes(Status);

/**
 * The records of one execution: what it did, what waits until when, and which call may go on with it. `recorded`: those of one that
 * has begun, the execution's own first; a callback of it is waited for without an end.
 */
export function newExecution(arn: string, input: string, recorded: readonly Operation[] = []) {
  const operations = new Map(recorded.map((operation) => [operation.Id, operation]));
  const root: Operation = recorded[0] ?? {
    Id: randomUUID(),
    Type: 'EXECUTION',
    Status: 'STARTED',
    StartTimestamp: new Date(),
    ExecutionDetails: { InputPayload: input },
  };
  operations.set(root.Id, root);
  let token = '';
  let counted = operations.size;
  let writtenBytes = Buffer.byteLength(input);
  /** Those that the client has not been told of. */
  let changed = new Set<string>();
  /** Until when the answer of each callback is waited for. */
  const deadlines = new Map<string, number>();
  for (const { Id, Type, Status } of recorded)
    if (Type === 'CALLBACK' && Status === 'STARTED') deadlines.set(Id, Number.POSITIVE_INFINITY);

  const change = (operation: Operation): void => {
    operations.set(operation.Id, operation);
    changed.add(operation.Id);
  };

  /** What has waited for long enough goes on. */
  const elapse = (): void => {
    for (const operation of operations.values()) {
      const dueMs = dueMsOf(operation, deadlines);
      if (dueMs === undefined || dueMs > Date.now()) continue;
      if (operation.Type === 'WAIT') change({ ...operation, Status: 'SUCCEEDED', EndTimestamp: new Date() });
      else if (operation.Type === 'CALLBACK') change(timedOut(operation));
      else change({ ...operation, Status: 'READY' });
    }
  };

  const refuseUnless = (isRight: boolean, message: string): void => {
    if (!isRight) throw new Refusal(message);
  };

  const count = ({ Action, Type, Payload, Error: error }: Update): void => {
    const bytes = Buffer.byteLength(Payload ?? '') + Buffer.byteLength(JSON.stringify(error ?? ''));
    refuseUnless(bytes <= quotas.resultBytes, `The payload has ${bytes} bytes: too many`);
    writtenBytes += bytes;
    refuseUnless(writtenBytes <= quotas.writtenBytes, `The execution has written ${writtenBytes} bytes`);
    if (Action === 'START' || (Type !== 'STEP' && Type !== 'CONTEXT')) counted += 1;
    refuseUnless(counted <= quotas.operations, `The execution has used ${counted} operations`);
  };

  const apply = (update: Update): void => {
    const { Id, ParentId, Name, Type, SubType, Action } = update;
    const known = operations.get(Id);
    refuseUnless(ParentId === undefined || operations.get(ParentId)?.Type === 'CONTEXT', 'Invalid parent');
    refuseUnless(known === undefined || known.Type === Type, `Invalid type ${Type} of ${Id}`);
    refuseUnless(known === undefined || !isOver(known), `Invalid ${Action} of ${known?.Status} ${Type}`);
    count(update);
    const before = known ?? {
      Id,
      ParentId,
      Name,
      Type,
      SubType,
      Status: 'STARTED',
      StartTimestamp: new Date(),
    };
    const isAsking = Type === 'CALLBACK' && Action === 'START';
    if (isAsking) deadlines.set(Id, deadlineOf(update.CallbackOptions));
    const CallbackDetails = isAsking ? { CallbackId: callbackIdOf(arn, Id) } : before.CallbackDetails;
    change({ ...before, ...stateAfter(update, before), ...(CallbackDetails && { CallbackDetails }) });
  };

  return {
    arn,
    root,
    used: () => ({ operations: counted, bytes: writtenBytes }),
    operations: (): Operation[] => [...operations.values()],

    /** The call that begins now alone may record anything; what comes of an older one is refused. */
    begin: (): string => {
      elapse();
      changed = new Set();
      token = randomUUID();
      return token;
    },

    /** @throws Refusal */
    record: (givenToken: string, updates: Update[]): { token: string; operations: Operation[] } => {
      refuseUnless(givenToken === token, 'Invalid Checkpoint Token: it is not the current one');
      elapse();
      for (const update of updates) apply(update);
      token = randomUUID();
      const payload = [...changed].flatMap((id) => operations.get(id) ?? []);
      changed = new Set();
      return { token, operations: payload };
    },

    /** What a replay needs: nothing of what lies in a context that has ended, unless it asked for it. @throws Refusal */
    state: (givenToken: string): Operation[] => {
      refuseUnless(givenToken === token, 'Invalid Checkpoint Token: it is not the current one');
      const isLeftOut = ({ ParentId = '' }: Operation): boolean => {
        const parent = operations.get(ParentId);
        if (parent === undefined) return false;
        return (isOver(parent) && parent.ContextDetails?.ReplayChildren !== true) || isLeftOut(parent);
      };
      return [...operations.values()].filter((operation) => !isLeftOut(operation));
    },

    hasCallback: (callbackId: string): boolean => callbackOf(operations, callbackId) !== undefined,

    /** Somebody outside answers a callback, once. @throws Refusal */
    answer: (callbackId: string, { verb, body }: CallbackAnswer): void => {
      elapse();
      const operation = callbackOf(operations, callbackId);
      if (!operation?.CallbackDetails) throw new Refusal('There is no such callback');
      if (isOver(operation)) throw new Refusal('The callback has ended', 'CallbackTimeoutException');
      refuseUnless(Buffer.byteLength(body) <= quotas.resultBytes, 'The answer has too many bytes');
      writtenBytes += Buffer.byteLength(body);
      const { CallbackId } = operation.CallbackDetails;
      const payload = verb === 'succeed' ? { Result: body } : { Error: JSON.parse(body || '{}') as object };
      const Status = verb === 'succeed' ? 'SUCCEEDED' : 'FAILED';
      const CallbackDetails = { CallbackId, ...payload };
      change({ ...operation, Status, EndTimestamp: new Date(), CallbackDetails });
    },

    /**
     * Until when nothing can go on, and that is for ever where a callback without a limit is waited for; undefined where there is
     * nothing to wait for.
     */
    dueMs: (): number | undefined => {
      const all = [...operations.values()];
      // What was answered after the function's last call, it does not know yet.
      if (changed.size > 0 || all.some(({ Status }) => Status === 'READY')) return 0;
      const due = all.flatMap((operation) => dueMsOf(operation, deadlines) ?? []);
      return due.length === 0 ? undefined : Math.min(...due);
    },
  };
}

const deadlineOf = ({ TimeoutSeconds = 0 }: Update['CallbackOptions'] = {}): number =>
  TimeoutSeconds > 0 ? Date.now() + 1000 * TimeoutSeconds : Number.POSITIVE_INFINITY;

/** It tells, as AWS' own does, of which execution it is. */
const callbackIdOf = (executionArn: string, operation: string): string =>
  Buffer.from(JSON.stringify({ executionArn, operation, nonce: randomUUID() })).toString('base64');

const callbackOf = (operations: ReadonlyMap<string, Operation>, callbackId: string) =>
  [...operations.values()].find(({ CallbackDetails }) => CallbackDetails?.CallbackId === callbackId);

function timedOut(operation: Operation): Operation {
  const { CallbackId = '' } = operation.CallbackDetails ?? {};
  const CallbackDetails = { CallbackId, Error: { ErrorMessage: 'Callback timed out' } };
  return { ...operation, Status: 'TIMED_OUT', EndTimestamp: new Date(), CallbackDetails };
}

function dueMsOf(operation: Operation, deadlines: ReadonlyMap<string, number>): number | undefined {
  const { Id, Type, Status, WaitDetails, StepDetails } = operation;
  const deadline = deadlines.get(Id);
  if (deadline !== undefined && Status === 'STARTED') return deadline;
  if (Type === 'WAIT' && Status === 'STARTED') return WaitDetails?.ScheduledEndTimestamp.getTime();
  return Status === 'PENDING' ? StepDetails?.NextAttemptTimestamp?.getTime() : undefined;
}

function stateAfter(update: Update, { StepDetails }: Operation): Partial<Operation> {
  const { Type, Action, ContextOptions, StepOptions, WaitOptions } = update;
  const payload = { Result: update.Payload, Error: update.Error };
  const after = (seconds = 0) => new Date(Date.now() + 1000 * seconds);
  const attempts = StepDetails?.Attempt ?? 0;
  if (Action === 'START')
    return {
      Status: 'STARTED',
      ...(Type === 'WAIT' && { WaitDetails: { ScheduledEndTimestamp: after(WaitOptions?.WaitSeconds) } }),
      ...(Type === 'STEP' && { StepDetails: { ...StepDetails, Attempt: attempts } }),
    };
  if (Action === 'RETRY') {
    const NextAttemptTimestamp = after(StepOptions?.NextAttemptDelaySeconds);
    return { Status: 'PENDING', StepDetails: { ...payload, Attempt: attempts + 1, NextAttemptTimestamp } };
  }
  const Status = Action === 'SUCCEED' ? 'SUCCEEDED' : Action === 'FAIL' ? 'FAILED' : 'CANCELLED';
  return {
    Status,
    EndTimestamp: new Date(),
    ...(Type === 'STEP' && { StepDetails: { ...payload, Attempt: attempts + 1 } }),
    ...(Type === 'CONTEXT' && { ContextDetails: { ...payload, ...ContextOptions } }),
  };
}
