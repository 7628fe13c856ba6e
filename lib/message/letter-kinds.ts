import { dispositions } from './dispositions.ts';
import type { FailureKind } from './failure.ts';

/**
 * Kinds of letters without a kind of failure. `redriven`: SQS moved it by its redrive policy, so there is no failure.
 * `no-details`: we wrote it, but the failure did not fit beside the message. `unknown-source`: no function of this deployment
 * wrote it. `unreadable`: its message cannot be read, whatever the failure was.
 */
export const otherKinds = ['redriven', 'no-details', 'unknown-source', 'unreadable'] as const;

export type LetterKind = FailureKind | (typeof otherKinds)[number];

export const letterKinds: LetterKind[] = [...(Object.keys(dispositions) as FailureKind[]), ...otherKinds];

/** A letter is marked from this number of replays on. */
export const replayedOften = 5;
