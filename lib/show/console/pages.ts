import { numberOf } from '../views/amounts.ts';
import { text, type View } from '../views/view.ts';

const perPage = 100;

/** One page of a list that is too long for a screen, and the links to its other pages. `asked`: the page as an address gives it. */
export const pageOf = <Row>(
  rows: readonly Row[],
  asked: string | null,
  addressOf: (page: number) => string,
): { shown: Row[]; pager: View } => {
  const pages = Math.max(1, Math.ceil(rows.length / perPage));
  const page = Math.min(pages, Math.max(1, Math.floor(Number(asked) || 1)));
  const link = (name: string, to: number) => ({ text: name, to: addressOf(to) });
  const links = [
    ...(page > 1 ? [link('First', 1), link('Previous', page - 1)] : []),
    ...(page < pages ? [link('Next', page + 1), link('Last', pages)] : []),
  ];
  return {
    shown: rows.slice((page - 1) * perPage, page * perPage),
    pager: pages === 1 ? [] : [text(`Page ${numberOf(page)} of ${numberOf(pages)}`), { links }],
  };
};
