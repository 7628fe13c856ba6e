import {
  addAction,
  addScreen,
  type ConsoleServices,
  formOf,
  render,
} from '../../../desk/console/console-services.ts';
import { unknownNamesOf } from '../../../desk/messages/letters/unknown-names.ts';
import { type Block, section, text, type View } from '../../../desk/views/view.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import type { Target } from '../../../stage/target.ts';
import { awaitFill, startFill } from './fill.ts';
import { listHeld, listMoved, showName } from './names.ts';
import { acceptCode } from './operator-actions.ts';
import { reassignedNamesIn } from './reassigned-names.ts';
import { filledView, fillForm, heldView, kindLabelled, lookUpForm, movedView, nameView } from './view.ts';

const patienceMs = 15 * 60_000;

export const addScreens = (services: ConsoleServices): void => {
  const { app, target, audit, runs } = services;
  addScreen(services, ['/crosswalk', 'Crosswalk'], (query, context) =>
    crosswalkScreen(services, { query, signal: context.req.raw.signal }),
  );

  // Privacy: a user's name does not go into an address.
  app.post('/crosswalk', async (context) => {
    const form = await formOf(context);
    const name = form.get('name')?.trim() ?? '';
    const kind = kindLabelled(form.get('kind') ?? '');
    if (name === '' || kind === undefined) throw new UsageError('Which name?');
    const content: View = [
      ...nameView(await showName(target, { kind, name }), { kind, name }),
      { links: [{ text: 'Back to the crosswalk', to: '/crosswalk' }] },
    ];
    return render(services, context, { title: 'A name', content });
  });

  addAction(services, '/crosswalk-accept', async (form) => {
    const reassigned = await reassignedNamesIn(services.desks);
    const code = form.get('code') ?? '';
    const reason = form.get('reason')?.trim() || undefined;
    const userName = form.get('userName');
    if (reassigned && (userName !== null || form.get('all') === 'yes')) {
      const names = userName === null ? 'all' : [userName];
      return runs.begin('Accept user names', (at) =>
        reassigned.accept(at, { names, reason, command: 'crosswalk accept' }),
      );
    }
    return runs.begin(
      'Accept a move',
      (at) => acceptCode(at, { code, reason, reassignedNames: reassigned }),
      {
        about: code,
      },
    );
  });

  addAction(services, '/crosswalk-fill', (form) => {
    const [classlists, acceptRemovals] = ['classlists', 'acceptRemovals'].map(
      (name) => form.get(name) === 'yes',
    );
    const reason = form.get('reason')?.trim() || undefined;
    return runs.begin('Fill the crosswalk', async (at) => {
      const id = await startFill(target, {
        classlists: classlists ?? false,
        acceptRemovals: acceptRemovals ?? false,
        reason,
        audit,
      });
      at.show('Result', [text('The fill has started.')]);
      const filled = await awaitFill(target, id, { signal: at.signal, patienceMs });
      at.show('Result', filledView(filled));
    });
  });
};

type Shown = { query: URLSearchParams; signal: AbortSignal };

const crosswalkScreen = async (services: ConsoleServices, shown: Shown): Promise<View> => {
  const { target } = services;
  const reassigned = await reassignedNamesIn(services.desks);
  const lookUp = await lookUpSection(target, shown);
  const isWanted = shown.query.size > 0;
  return [
    isWanted && lookUp,
    section('Codes that have moved', ...movedView(await listMoved(target))),
    ...(reassigned === undefined
      ? []
      : [
          section(
            'User names that passed to another record',
            ...(await reassigned.read(target, services.signal)).view,
          ),
        ]),
    !isWanted && lookUp,
    section(
      'Fill',
      text('The function crosswalk-fill reads the platform’s lists and the university’s files by schedule.'),
      ...heldView(await listHeld(target)),
      fillForm,
    ),
  ];
};

/** Of the letters of a cause, with their names: an address has the cause only. */
const lookUpSection = async (target: Target, { query, signal }: Shown): Promise<Block> => {
  const [cause, id] = [query.get('cause'), query.get('id')];
  const filter = cause !== null ? { cause: [cause] } : id !== null ? { id: [id] } : undefined;
  const unknown = filter && (await unknownNamesOf(target, filter, signal));
  const back = cause !== null ? `/causes#${cause}` : `/letters/${encodeURIComponent(id ?? '')}`;
  return section(
    'What a name stands for',
    lookUpForm(unknown?.kind, unknown?.names ?? []),
    filter !== undefined && { links: [{ text: 'Back to the letters', to: back }] },
  );
};
