import type { IndexRecord, LetterRecord } from '../../../delivery/letters/record.ts';
import { UsageError } from '../../../stage/command-errors.ts';
import { type Filter, filterSchema } from '../../messages/letters/filter.ts';
import { factsOf } from '../../messages/letters/list.ts';
import { countOf, numberOf } from '../../views/format.ts';
import { causeText, letterColumns, origin } from '../../views/letters.ts';
import { recordColumns } from '../../views/trace.ts';
import { href, type Link, section, table, text, type View } from '../../views/view.ts';
import { addScreen, type ConsoleServices, formOf, render } from '../console-services.ts';
import { keysList } from '../page.ts';

const maxShown = 50;

/** One box for everything: what it holds decides what is looked for. */
export const addFind = (services: ConsoleServices): void => {
  addScreen(services, ['/keys', 'Keys'], () => keysList(services.keys.areOn()));
  services.app.post('/keys', async (context) => {
    await services.keys.turn((await formOf(context)).get('turn') === 'off' ? 'off' : 'on');
    return context.redirect('/keys', 303);
  });

  // Privacy: what is searched for may be a name, so it does not go into the address.
  services.app.post('/find', async (context) => {
    const sought = (await formOf(context)).get('text')?.trim() ?? '';
    if (sought === '') throw new UsageError('What are you looking for?');
    const [{ value: found }, { value: waiting }] = await Promise.all([
      services.lists.letters.get(),
      services.lists.waiting.get(),
    ]);
    const letters = found.all.filter(isSought(sought));
    const waits = waiting.filter(isSought(sought));
    const causes = found
      .groupsOf(found.all)
      .groups.filter(({ cause, words, error }) => cause === sought || holds([error, ...words], sought));
    const [only] = letters;
    if (only !== undefined && letters.length === 1 && waits.length === 0)
      return context.redirect(`/letters/${encodeURIComponent(only.message)}`, 303);
    const [cause] = causes;
    if (cause?.cause === sought) return context.redirect(href('/letters', { cause: sought }), 303);
    const content: View = [
      text(
        `${countOf(letters.length, 'letter')}, ${countOf(causes.length, 'cause')} and ${countOf(waits.length, 'waiting message')} of “${sought}”.`,
      ),
      { links: linksFor(sought, { letters, waits }) },
      causes.length > 0 &&
        section(
          'Causes',
          table('Causes', causes, {
            Letters: ({ letters }) => letters,
            ...origin,
            Cause: (group) => ({ text: causeText(group), to: href('/letters', { cause: group.cause }) }),
          }),
        ),
      letters.length > 0 &&
        section(
          'Letters',
          table('Letters', letters.slice(0, maxShown).map(factsOf), letterColumns),
          letters.length > maxShown && {
            more: `The oldest ${maxShown} of ${numberOf(letters.length)}`,
          },
        ),
      waits.length > 0 &&
        section('Waiting messages', table('Waiting messages', waits.slice(0, maxShown), recordColumns)),
    ];
    return render(services, context, { title: 'Search', content });
  });
};

const holds = (texts: readonly (string | undefined)[], sought: string): boolean =>
  texts.some((each) => each?.toLowerCase().includes(sought.toLowerCase()));

/** An id as a whole or its beginning, whom or what it is about, a name of the SIS, or a word of its error. */
const isSought = (sought: string): ((record: IndexRecord | LetterRecord) => boolean) => {
  const isNumber = /^\d+$/.test(sought);
  return ({ message, eventId, user, orgUnit, thing, named, error, words, required, operation }) =>
    (sought.length >= 4 && message.startsWith(sought)) ||
    [eventId, user, orgUnit].includes(sought) ||
    thing?.split(' ').at(-1) === sought ||
    holds([named], sought) ||
    // A number within an error or a call says nothing.
    (!isNumber && holds([error, words, required, operation], sought));
};

/** What else shows what is known of it. What names a person by the SIS stays out of addresses. */
const linksFor = (
  sought: string,
  { letters, waits }: Record<'letters' | 'waits', readonly IndexRecord[]>,
): Link[] => {
  const all = [...letters, ...waits];
  const filtered = (name: keyof Filter, text: string): Link[] =>
    filterSchema.safeParse({ [name]: sought }).success
      ? [{ text, to: href('/letters', { [name]: sought }) }]
      : [];
  const isUser = all.some(({ user }) => user === sought);
  const isCourse = all.some(({ orgUnit }) => orgUnit === sought);
  const isWord = letters.some(({ error, words }) => holds([error, words], sought));
  const isNumber = /^\d+$/.test(sought);
  return [
    ...(isUser ? filtered('user', 'All letters of this user') : []),
    ...(isCourse ? filtered('orgUnit', 'All letters of this course') : []),
    ...(isWord ? filtered('error', 'All letters with this error') : []),
    ...(isNumber
      ? [
          { text: 'All that is known of this user', to: href('/trace', { user: sought }) },
          { text: 'All that is known of this course', to: href('/trace', { orgUnit: sought }) },
        ]
      : []),
    ...(all.length === 0 && /^[\w./-]{4,}$/.test(sought)
      ? [{ text: 'Trace it, also in the functions’ log', to: href('/trace', { id: sought, log: 'yes' }) }]
      : []),
  ];
};
