import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DoctorReport, doctorReport, type Tried } from '../../lib/operate/stage/doctor/report.ts';

const folder = join(import.meta.dirname, 'aws');

/** The last time that a step was seen, by its id. */
export type OnAws = ReadonlyMap<string, Tried & { at: string; where: string }>;

/** @throws Error that names the file if it is no report, or one of emulators. */
export const reportIn = (file: string): DoctorReport => {
  const read = doctorReport.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!read.success) throw new Error(`${file} is no report of \`sis-relay doctor\`: ${read.error.message}`);
  if (!read.data.isAws) throw new Error(`${file} tells of emulators, which say nothing about AWS.`);
  return read.data;
};

/** The reports that somebody has sent. */
export const readReports = (from = folder): DoctorReport[] => {
  if (!existsSync(from)) return [];
  return readdirSync(from).flatMap((name) => (name.endsWith('.json') ? reportIn(join(from, name)) : []));
};

/** Keeps a report that somebody has sent. */
export const recordReport = (file: string, into = folder): void => {
  const report = reportIn(file);
  mkdirSync(into, { recursive: true });
  const name = `${report.endedAt.slice(0, 10)}-${report.run}.json`;
  writeFileSync(join(into, name), `${JSON.stringify(report, null, 2)}\n`);
};

/** What could not be tried, or failed, says nothing. */
export const seenOnAws = (reports: readonly DoctorReport[]): OnAws =>
  new Map(
    reports
      .toSorted((one, other) => (one.endedAt < other.endedAt ? -1 : 1))
      .flatMap(({ steps, endedAt: at, region, version, deployed }) =>
        steps.flatMap((tried): [string, Tried & { at: string; where: string }][] =>
          tried.is === 'as-expected' || tried.is === 'different'
            ? [[tried.id, { ...tried, at, where: [region, deployed ?? version].filter(Boolean).join(', ') }]]
            : [],
        ),
      ),
  );
