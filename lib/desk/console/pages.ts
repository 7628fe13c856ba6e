import { numberOf } from '../views/format.ts';
import { text, type View } from '../views/view.ts';

/** By default. */
const rowsOfPage = 100;

type Page<Row> = {
  shown: Row[];
  /** `Page 2 of 3`; empty if there is only one. */
  place: string;
  /** The pages to turn to, by their names. */
  turns: [name: string, page: number][];
};

/** One page of a list that is too long for a screen. `asked`: the page as an address gives it. */
export const pageOf = <Row>(rows: readonly Row[], asked: string | null, perPage = rowsOfPage): Page<Row> => {
  const pages = Math.max(1, Math.ceil(rows.length / perPage));
  const page = Math.min(pages, Math.max(1, Math.floor(Number(asked) || 1)));
  const back: Page<Row>['turns'] = [
    ['First', 1],
    ['Previous', page - 1],
  ];
  const on: Page<Row>['turns'] = [
    ['Next', page + 1],
    ['Last', pages],
  ];
  return {
    shown: rows.slice((page - 1) * perPage, page * perPage),
    place: pages === 1 ? '' : `Page ${numberOf(page)} of ${numberOf(pages)}`,
    turns: [...(page > 1 ? back : []), ...(page < pages ? on : [])],
  };
};

export const pager = ({ place, turns }: Page<unknown>, addressOf: (page: number) => string): View =>
  place === ''
    ? []
    : [text(place), { links: turns.map(([name, to]) => ({ text: name, to: addressOf(to) })) }];
