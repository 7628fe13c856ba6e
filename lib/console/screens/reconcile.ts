import { UsageError } from '../../deployment/command-errors.ts';
import { hiddenFields, reasonField } from '../../markup/forms.ts';
import { type Html, href, html, notes, said } from '../../markup/html.ts';
import { type Columns, table } from '../../markup/table.ts';
import { classes } from '../../reconcile/classes.ts';
import { acceptFindings } from '../../reconcile/desk/accept.ts';
import type { FindingGroup } from '../../reconcile/desk/groups.ts';
import { type Comparison, countsOf, listReports, readComparison } from '../../reconcile/desk/read.ts';
import { resendFindings } from '../../reconcile/desk/resend.ts';
import type { Report } from '../../reconcile/record.ts';
import { ageOf, countOf } from '../../views/amounts.ts';
import * as wording from '../../views/reconcile.ts';
import { addScreen, addVerb, type Desk, reasonIn } from '../desk.ts';
import { letterLink } from './cells.ts';

const maxRuns = 30;
/** A screen has so many findings of a group at most. */
const maxFindings = 200;
const patienceMs = 15 * 60_000;

export const addReconcile = (desk: Desk): void => {
  const { target, audit, runs, readOnly } = desk;
  addScreen(desk, ['/reconcile', 'Reconcile'], async (query, context) => {
    const { signal } = context.req.raw;
    const reports = await listReports(target, { limit: maxRuns, signal });
    if (reports.length === 0) return html`<p>The platform was not compared with what was sent yet.</p>`;
    const run = query.get('run') ?? undefined;
    const comparison = await readComparison(target, { run, limit: 0, signal });
    return html`${comparisonOf(comparison, readOnly)}<section><h2>Runs</h2>${table('Runs', reports, runColumns)}</section>`;
  });

  addScreen(desk, ['/reconcile/:group', 'Findings'], async (query, context) => {
    const { signal } = context.req.raw;
    const of = [context.req.param('group') ?? ''];
    const run = query.get('run') ?? undefined;
    const { findings, omitted } = await readComparison(target, { run, of, limit: maxFindings, signal });
    return html`${table(
      'Findings',
      findings,
      {
        Resource: ({ resource }) => html`<a href="${href('/trace', { id: resource })}">${said(resource)}</a>`,
        ...{ Class: (each) => each.class, Fields: ({ fields }) => said(wording.fieldsText(fields)) },
        Written: ({ writtenMs }) => (writtenMs === undefined ? '–' : `${ageOf(writtenMs)} ago`),
        'Message, or error': ({ error, messageId = '' }) => said(error ?? messageId),
      },
      { empty: 'None of these differs, or all differences are accepted.' },
    )}${omitted > 0 ? html`<p class="quiet">And ${omitted} more.</p>` : ''}`;
  });

  addVerb(desk, '/reconcile-decision', (form) => {
    const [run, of] = [form.get('run') ?? undefined, [form.get('group') ?? '']];
    const decision = form.get('decision');
    if (decision !== 'accept' && decision !== 'resend') throw new UsageError('Accept it, or send it again?');
    const reason = reasonIn(form);
    return runs.begin(decision === 'accept' ? 'Accept findings' : 'Send findings again', async (at) => {
      const given = { run, of, reason, audit, signal: at.signal };
      const asked = async (count: number, act: string, groups: readonly FindingGroup[]): Promise<boolean> => {
        at.show('Plan', planOf(groups));
        const text = `${countOf(count, 'finding')}. Reason: ${reason}`;
        return count > 0 && (await at.ask({ text, act })) !== undefined;
      };
      if (decision === 'accept') {
        const confirm = ({ findings, groups }: { findings: unknown[]; groups: FindingGroup[] }) =>
          asked(findings.length, 'Accept', groups);
        const accepted = await acceptFindings(target, { ...given, confirm });
        if (accepted)
          at.show('Result', html`<p>${countOf(accepted.findings.length, 'finding')} accepted.</p>`);
        return;
      }
      const resent = await resendFindings(target, {
        ...{ ...given, patienceMs },
        confirm: (plan) => {
          const links = plan.withLetter
            .slice(0, maxFindings)
            .map(({ letter }) => html`${letterLink(letter)} `);
          at.show('Before', html`${notes(wording.resendPlanNotes(plan))}<p>${links}</p>`);
          return asked(plan.findings.length, 'Send again', plan.groups);
        },
      });
      at.show('Result', notes(wording.resentNotes(resent)));
    });
  });
};

const runLink = (id: string): Html => html`<a href="${href('/reconcile', { run: id })}">${id}</a>`;

const stateOf = (report: Report): Html =>
  html`<span class="badge ${wording.runTone(report)}">${wording.runState(report)}</span>`;

const runColumns: Columns<Report> = {
  ...{ Run: ({ id }) => runLink(id), Age: ({ startedMs }) => ageOf(startedMs), State: stateOf },
  ...Object.fromEntries(classes.map((each) => [each, (report: Report) => countsOf(report)[each]])),
};

const planOf = (groups: readonly FindingGroup[]): Html =>
  table('What is meant', groups, {
    Findings: ({ findings }) => findings,
    Group: (group) => said(wording.groupTitle(group)),
    Of: (group) => wording.groupFacts(group),
  });

const comparisonOf = (comparison: Comparison, readOnly: boolean): Html => {
  const { report, groups } = comparison;
  return html`<p>${runLink(report.id)} ${stateOf(report)}</p><p>${wording.runFacts(report)}.</p>
<section class="first"><h2>What is known</h2>${notes([...wording.claims(report), ...wording.comparisonNotes(comparison)])}</section>
${groups.length === 0 ? html`<p>${wording.noGroupsText(report)}</p>` : groups.map((group) => groupOf(group, { run: report.id, readOnly }))}`;
};

const groupOf = (group: FindingGroup, { run, readOnly }: { run: string; readOnly: boolean }): Html => {
  const resend = html`<button name="decision" value="resend">Send again</button> `;
  const accept = html`<button name="decision" value="accept">Accept</button>`;
  const form = html`<form method="post" action="/reconcile-decision">${hiddenFields({ run, group: group.id })}${reasonField(true)}
${wording.groupTone(group) === 'bad' ? resend : ''}${accept}</form>`;
  return html`<article class="cause" id="${group.id}"><h2>${said(wording.groupTitle(group))}</h2>
<p><a href="${href(`/reconcile/${group.id}`, { run })}">${wording.groupFacts(group)}</a></p><p>${said(group.remedy)}</p>
${readOnly || group.class === 'unreadable' ? '' : form}</article>`;
};
