import { integrationNames } from '../../../operate/stage/function-names.ts';
import { pauseFunctions, resumeFunctions } from '../../../operate/stage/pause.ts';
import { pauseView } from '../../views/pause.ts';
import type { CommandContext } from '../command-context.ts';

type Verb = 'pause' | 'resume';

const actOf =
  (verb: Verb) =>
  async (context: CommandContext, functions: string[], { reason }: { reason?: string }): Promise<void> => {
    const { target, audit, signal, print, withProgress, finish } = context;
    const known = integrationNames();
    const work = verb === 'pause' ? pauseFunctions : resumeFunctions;
    const changes = await withProgress('Asking AWS', () =>
      work(target, { functions, known, reason, audit, signal }),
    );
    print({ functions: changes }, () => pauseView(changes, verb));
    finish(changes.every(({ done }) => done));
  };

export const pause = actOf('pause');
export const resume = actOf('resume');
