import { type PauseChange, pauseFunctions, resumeFunctions } from '../../stage/pause.ts';
import { type Woken, wakeMessages } from '../messages/waiting/wake.ts';
import { countOf } from '../views/format.ts';
import { pauseView } from '../views/pause.ts';
import { wakePlanView, wokenNotes } from '../views/waiting.ts';
import type { OperatorContext } from './operator-context.ts';

type WakeRequest = Pick<Parameters<typeof wakeMessages>[1], 'filter' | 'limit' | 'reason' | 'dryRun'> & {
  /** The operator has pressed what says so: a message that is woken too early waits again. */
  isAgreed?: boolean;
};

export const wake = async (
  operator: OperatorContext,
  { isAgreed = false, ...given }: WakeRequest,
): Promise<Woken> => {
  const { target, audit, signal } = operator;
  const woken = await wakeMessages(target, {
    ...given,
    audit,
    signal,
    onWoken: operator.progress('Woken'),
    confirm: async (plan) => {
      operator.show('Plan', wakePlanView(plan), { plan });
      if (given.dryRun || plan.messages === 0 || signal.aborted) return false;
      return (
        isAgreed || (await operator.ask({ act: `Wake ${countOf(plan.messages, 'message')}` })) !== undefined
      );
    },
  });
  const { plan: _, ...result } = woken;
  if (!given.dryRun) operator.show('Result', wokenNotes(woken), { result });
  return woken;
};

type PauseRequest = Pick<Parameters<typeof pauseFunctions>[1], 'functions' | 'known' | 'reason'>;

export const changeDeliveries = async (
  { target, audit, signal, show }: OperatorContext,
  verb: 'pause' | 'resume',
  given: PauseRequest,
): Promise<PauseChange[]> => {
  const work = verb === 'pause' ? pauseFunctions : resumeFunctions;
  const changes = await work(target, { ...given, audit, signal });
  show('Result', pauseView(changes, verb), { functions: changes });
  return changes;
};
