import { type PauseChange, pauseFunctions, resumeFunctions } from '../../stage/pause.ts';
import { type Woken, wakeMessages } from '../messages/waiting/wake.ts';
import { countOf } from '../views/format.ts';
import { pauseView } from '../views/pause.ts';
import { wakePlanView, wokenNotes } from '../views/waiting.ts';
import type { Operator } from './operator.ts';

type Waking = Pick<Parameters<typeof wakeMessages>[1], 'filter' | 'limit' | 'reason' | 'dryRun'>;

export const wake = async (operator: Operator, given: Waking): Promise<Woken> => {
  const { target, audit, signal } = operator;
  const woken = await wakeMessages(target, {
    ...given,
    audit,
    signal,
    onWoken: operator.progress('Woken'),
    confirm: async (plan) => {
      operator.show('Plan', wakePlanView(plan), { plan });
      if (given.dryRun || plan.messages === 0 || signal.aborted) return false;
      const answer = await operator.ask({
        hint: 'The functions will handle them at once. A message whose cause remains waits again.',
        act: `Wake ${countOf(plan.messages, 'message')}`,
      });
      return answer !== undefined;
    },
  });
  const { plan: _, ...result } = woken;
  if (!given.dryRun) operator.show('Result', wokenNotes(woken), { result });
  return woken;
};

type Pausing = Pick<Parameters<typeof pauseFunctions>[1], 'functions' | 'known' | 'reason'>;

export const changeDeliveries = async (
  { target, audit, signal, show }: Operator,
  verb: 'pause' | 'resume',
  given: Pausing,
): Promise<PauseChange[]> => {
  const work = verb === 'pause' ? pauseFunctions : resumeFunctions;
  const changes = await work(target, { ...given, audit, signal });
  show('Result', pauseView(changes, verb), { functions: changes });
  return changes;
};
