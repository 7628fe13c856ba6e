/** What becomes of a message that fails in one way, and of its letter. */
type FailureKindRow = {
  /** `wait`: it stays in its queue and is tried again. `park`: it becomes a letter at once. */
  disposition: 'wait' | 'park';
  /** Who must act once a letter is written; alarms depend on it. The schedule replays the letters that are left to it. */
  responsible: 'producer' | 'platform' | 'access' | 'operator' | 'schedule';
  /** A person must act before a message that waits can go on, and is alarmed while it waits. */
  needsPerson?: true;
  letters: LetterUse;
  /** The platform accepts the credential, which lacks a right for the call. */
  lacksRight?: true;
  /** Whether a replay's probe sees that the cause is gone; of the others, a person confirms it. */
  isProbed?: true;
  /** What the list of a cause names, for whoever grants or creates it. */
  grants?: { of: 'scope' | 'secret'; title: string };
  /** What to do, if the error itself does not say it better. */
  remedy: string;
};

/**
 * How letters are put right. `replay`: they are sent as they are, once their cause is gone. `correct`: their messages are corrected
 * first. `decide`: sent blindly they would do harm, so a person checks what the platform holds. `none`: they cannot be sent.
 */
type LetterUse = 'replay' | 'correct' | 'decide' | 'none';

export const failureKinds = {
  invalid: {
    disposition: 'park',
    responsible: 'producer',
    letters: 'correct',
    remedy:
      'Have the producer correct the message and send it again, then discard this letter. Or edit and replay this letter.',
  },
  rejected: {
    disposition: 'park',
    responsible: 'producer',
    letters: 'replay',
    remedy: 'Correct what the platform names, in the message or on the platform, then replay.',
  },
  'unexpected-answer': {
    disposition: 'park',
    responsible: 'platform',
    letters: 'replay',
    remedy:
      '1. Check on the platform whether the change was made. 2. If it was, discard this letter. 3. If it was not, have this answer added to sis-relay, or set a version of the call whose answer it knows. 4. Then replay.',
  },
  intercepted: {
    disposition: 'park',
    responsible: 'schedule',
    letters: 'replay',
    remedy:
      '1. Check what is between sis-relay and the platform: a proxy, a firewall, a login. 2. Check the settings PLATFORM_URL and PLATFORM_API_ROOT. 3. Then replay.',
  },
  'missing-scope': {
    disposition: 'park',
    responsible: 'access',
    letters: 'replay',
    lacksRight: true,
    grants: { of: 'scope', title: 'Scopes to ask for:' },
    remedy: 'Grant the named scope to the client registered for sis-relay, then replay.',
  },
  'missing-permission': {
    disposition: 'park',
    responsible: 'access',
    letters: 'replay',
    lacksRight: true,
    remedy: "Give the signing user's role the permission for this call on the platform, then replay.",
  },
  'missing-credential': {
    disposition: 'park',
    responsible: 'access',
    letters: 'replay',
    isProbed: true,
    grants: { of: 'secret', title: 'Secrets to create:' },
    remedy: 'Create the named secret with the credential of that user, then replay.',
  },
  uncertain: {
    disposition: 'park',
    responsible: 'operator',
    letters: 'decide',
    remedy: 'Check on the platform whether it was done. If it was, discard this letter. If not, replay it.',
  },
  outdated: {
    disposition: 'park',
    responsible: 'operator',
    letters: 'decide',
    remedy:
      'Check what the platform holds. If it is older or missing there, replay this letter. If not, discard it.',
  },
  crashed: {
    disposition: 'park',
    responsible: 'operator',
    letters: 'replay',
    remedy: 'Find the cause in the function’s log (memory, time, the file named), fix it, then replay.',
  },
  defect: {
    disposition: 'park',
    responsible: 'operator',
    letters: 'replay',
    remedy:
      'This is a bug in sis-relay. Report it with the log of this message, deploy the fix, then replay.',
  },
  'ambiguous-id': {
    disposition: 'park',
    responsible: 'producer',
    letters: 'replay',
    remedy:
      'Make the name unique on the platform or in the university’s files, and fill the crosswalk (`sis-relay crosswalk fill`). Then replay. Or have the producer send the platform’s id, and discard this letter.',
  },
  'unknown-id': {
    disposition: 'wait',
    responsible: 'producer',
    letters: 'replay',
    remedy:
      'Create what the message names on the platform, or correct the message (`sis-relay letters edit`). It is looked up again by itself while the message waits.',
  },
  credentials: {
    disposition: 'wait',
    responsible: 'schedule',
    needsPerson: true,
    letters: 'replay',
    isProbed: true,
    grants: { of: 'secret', title: 'Secrets to change:' },
    remedy:
      'Rotate or restore the credential in Secrets Manager. For an OAuth client, read what token-refresh reports, and invoke it with {"force":true}. Waiting messages then continue by themselves.',
  },
  'aws-refused': {
    disposition: 'wait',
    responsible: 'schedule',
    needsPerson: true,
    letters: 'replay',
    remedy:
      'Have an administrator of the AWS account give the function the missing permission. Waiting messages then continue by themselves.',
  },
  throttled: {
    disposition: 'wait',
    responsible: 'schedule',
    letters: 'replay',
    isProbed: true,
    remedy:
      'Do nothing: the message continues by itself. If this happens often, look which function is refused (`sis-relay status`). To slow down all calls, set the parameter `callsPerMinute` and deploy.',
  },
  unavailable: {
    disposition: 'wait',
    responsible: 'schedule',
    letters: 'replay',
    isProbed: true,
    remedy:
      'Do nothing at first: the message continues by itself when the platform or AWS answers again. If this lasts, ask the people who run them.',
  },
} as const satisfies Record<string, FailureKindRow>;

export type FailureKind = keyof typeof failureKinds;

/** Kinds of letters without a kind of failure. */
export const otherLetterKinds = {
  /** SQS moved it by its redrive policy, so there is no failure. */
  redriven: { letters: 'replay' },
  /** A function wrote it, but the failure did not fit beside the message. */
  'no-details': { letters: 'replay' },
  /** No function of this deployment wrote it. */
  'unknown-source': { letters: 'none' },
  /** Its message cannot be read, whatever the failure was. */
  unreadable: { letters: 'none' },
} as const satisfies Record<string, { letters: LetterUse }>;

export const otherLetterKindNames = Object.keys(otherLetterKinds) as (keyof typeof otherLetterKinds)[];

export type LetterKind = FailureKind | keyof typeof otherLetterKinds;

const rows: Record<FailureKind, FailureKindRow> = failureKinds;
const uses: Partial<Record<string, { letters: LetterUse }>> = { ...failureKinds, ...otherLetterKinds };

export const failureKindNames = Object.keys(failureKinds) as FailureKind[];
export const letterKinds = [...failureKindNames, ...otherLetterKindNames];

/** A record or an attribute may hold any text as its kind: of an unknown kind, nothing is known. */
const rowOf = (kind: string | undefined): FailureKindRow | undefined =>
  Object.hasOwn(rows, kind ?? '') ? rows[kind as FailureKind] : undefined;

export const isRetried = (kind: string | undefined): boolean => rowOf(kind)?.disposition === 'wait';

export const needsPerson = (kind: string | undefined): boolean => rowOf(kind)?.needsPerson === true;

/** The schedule replays its letters, and waiting needs no person. */
export const healsByItself = (kind: string | undefined): boolean =>
  isReplayedBySchedule(kind) && !needsPerson(kind);

export const isReplayedBySchedule = (kind: string | undefined): boolean =>
  rowOf(kind)?.responsible === 'schedule';

export const lacksRight = (kind: string | undefined): boolean => rowOf(kind)?.lacksRight === true;

export const isProbed = (kind: string | undefined): boolean => rowOf(kind)?.isProbed === true;

export const grantsOf = (kind: string): FailureKindRow['grants'] => rowOf(kind)?.grants;

/** Undefined for a kind that this version does not know. */
export const letterUseOf = (kind: string): LetterUse | undefined =>
  Object.hasOwn(uses, kind) ? uses[kind]?.letters : undefined;

/** The messages of its letters are corrected before they are sent. */
export const isCorrectedFirst = (kind: string | undefined): boolean => rowOf(kind)?.letters === 'correct';

/** Kinds whose letters only a person sends, who has checked what the platform holds. */
export type UndecidedKind = {
  [K in FailureKind]: (typeof failureKinds)[K]['letters'] extends 'decide' ? K : never;
}[FailureKind];

export const needsDecision = (kind: string | undefined): kind is UndecidedKind =>
  rowOf(kind)?.letters === 'decide';

export const undecidedKinds: readonly UndecidedKind[] = failureKindNames.filter((kind) =>
  needsDecision(kind),
);

/** A letter is marked from this number of replays on. */
export const replayedOften = 5;
