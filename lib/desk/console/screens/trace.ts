import { matches } from '../../messages/letters/filter.ts';
import { messagesAbout, traceOf } from '../../messages/trace/trace.ts';
import { waitingAmong } from '../../messages/waiting/waiting.ts';
import { aboutView, traceView } from '../../views/trace.ts';
import type { Form, View } from '../../views/view.ts';
import { waitingView } from '../../views/waiting.ts';
import { addScreen, type ConsoleServices, filterFrom } from '../console-services.ts';

const maxMessages = 500;

export const addTrace = (services: ConsoleServices): void => {
  const { target, integrations, lists } = services;
  addScreen(services, ['/trace', 'Trace'], async (query, context) => {
    const { signal } = context.req.raw;
    const id = query.get('id')?.trim() ?? '';
    const log = query.get('log') === 'yes';
    const { user, orgUnit } = filterFrom(
      new URLSearchParams([...query].filter(([name]) => name !== 'id')),
    ).filter;
    const subject = { ...(user && { user }), ...(orgUnit && { orgUnit }) };
    const found = async (): Promise<View> => {
      const functions = [...integrations.keys()];
      if (id !== '') return traceView(await traceOf(target, id, { log, functions, signal }), log);
      if (Object.keys(subject).length === 0) return [];
      return aboutView(await messagesAbout(target, subject, { limit: maxMessages, signal }));
    };
    const search: Form = {
      action: '/trace',
      isSearch: true,
      buttons: [{ text: 'Trace' }],
      // What was found has the focus of its own links.
      ...(query.size === 0 && { isMain: true as const }),
      fields: [
        { field: 'id', label: 'Message, letter, event or resource', value: id, hint: 'grade/2001/5001/301' },
        { field: 'user', label: 'or user', value: user, hint: 'id' },
        { field: 'orgUnit', label: 'and org unit', value: orgUnit, hint: 'id' },
        { checkbox: 'log', label: 'The functions’ log, too', isChecked: log },
      ],
    };
    return [search, ...(await found())];
  });

  addScreen(services, ['/waiting', 'Waiting'], async (query) => {
    const { filter } = filterFrom(query);
    const { value } = await lists.waiting.get();
    const found = value.filter((record) => matches(filter, record));
    return waitingView(waitingAmong(found, maxMessages), services.name);
  });
};
