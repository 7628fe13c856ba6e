import { MessageFailure } from '../message/failure.ts';
import { ownText, type SafeText, safe, safeList } from '../message/safe-text.ts';
import { formerNamesField, type SisId } from '../message/sis-ids.ts';
import { type CrosswalkKind, type CrosswalkSource, crosswalkSources, kindOfField } from './kinds.ts';
import { differenceText, type NearName, ruleFor } from './near-names.ts';
import type { LastFill } from './table.ts';

/** An id of the SIS for a letter, and never for logs: it may name a person. */
export const detailOf = ({ field, value, formerly = [] }: SisId): string => {
  const former = formerly.length > 0 ? ` or ${formerNamesField} ${formerly.join(', ')}` : '';
  return `${field} ${value}${former}`;
};

const unknownId = (sisId: SisId, message: SafeText, remedy: string): MessageFailure =>
  new MessageFailure('unknown-id', message, { detail: detailOf(sisId), remedy });

/** Logs get how it differs, and not the name: that may be a person's. */
const nearText = (near: NearName | undefined): SafeText =>
  near === undefined ? safe`` : safe`, but one that differs ${differenceText(near.differs)}`;

const nearRemedy = (knower: string, near: NearName | undefined): string => {
  if (near === undefined) return '';
  const rule = ruleFor(near.differs);
  return `${knower} knows ${near.name}, which differs ${differenceText(near.differs)}. If that name is meant, have it corrected where it comes from${rule === undefined ? '' : ` (by a mapping: ${rule})`}. `;
};

const correctIt =
  'If it is wrong, correct it where it comes from: of an export, the row, and put the file again. Once it is a letter, you can correct the message (`sis-relay letters edit`).';

export const noCrosswalk = (sisId: SisId): MessageFailure =>
  unknownId(
    sisId,
    safe`This deployment has no crosswalk, so it is not known what data.${sisId.field} stands for`,
    `Have the crosswalk deployed and filled, or have the producer send ${sisId.platformField}.`,
  );

/** `fills`: when the sources were last filled; undefined if that could not be read, which is no failure beside this one. */
export const unknownName = (
  sisId: SisId,
  {
    kind,
    fills,
    near,
  }: {
    kind: CrosswalkKind;
    fills: ReadonlyMap<string, LastFill> | undefined;
    near: NearName | undefined;
  },
): MessageFailure => {
  const filled = (source: CrosswalkSource): SafeText => {
    const { filledMs } = fills?.get(`${kind}/${source}`) ?? {};
    return filledMs === undefined ? safe`never filled` : safe`last filled ${minuteOf(filledMs)}`;
  };
  const isFilled = crosswalkSources.some((source) => fills?.has(`${kind}/${source}`));
  const sources = safeList(
    crosswalkSources.map((source) => safe`${sourceText[source]} (${filled(source)})`),
    ' and from ',
  );
  return unknownId(
    sisId,
    safe`The crosswalk does not know this data.${sisId.field}${nearText(near)}${fills ? safe`. It has names from ${sources}` : ''}`,
    `${fills && !isFilled ? neverFilled : nearRemedy('The crosswalk', near)}Look the name up (\`sis-relay ${lookUpCommand(kind)}\`). If it is right, add it on the platform or in the university’s file. The next fill learns it, or a fill that you start now (\`sis-relay ${fillCommand(kind)}\`). ${correctIt}`,
  );
};

const neverFilled = 'The crosswalk has no names of this kind yet: fill it first. ';

/** `name`: as it is typed. */
export const lookUpCommand = (kind: CrosswalkKind, name = '<name>'): string =>
  `crosswalk show ${optionOf[kind]} ${name}`;

/** Of users, it learns nothing from the platform's list of org units: without a file of users, only classlists have them. */
export const fillCommand = (kind: CrosswalkKind): string =>
  kind === 'orgUnitCode' ? 'crosswalk fill' : 'crosswalk fill --classlists';

type UnknownName = {
  field: string;
  kind: CrosswalkKind;
  /** At that time, no source had ever given names of its kind. */
  wasEmpty: boolean;
};

/** What the error of an unknown name says; undefined for any other error. */
export const unknownNameIn = (error: string): UnknownName | undefined => {
  const [, field = ''] = /^The crosswalk does not know this data\.(\w+)/.exec(error) ?? [];
  const kind = Object.hasOwn(kindOfField, field) ? kindOfField[field] : undefined;
  if (kind === undefined) return undefined;
  return { field, kind, wasEmpty: error.includes('never filled') && !error.includes('last filled') };
};

export const unknownGradeObject = (
  sisId: SisId,
  { orgUnitId, listed, near }: { orgUnitId: number; listed: number; near: NearName | undefined },
): MessageFailure => {
  const fields = safe`data.${sisId.field}${sisId.formerly ? safe` or data.${formerNamesField}` : ''}`;
  return unknownId(
    sisId,
    safe`None of the ${listed} grade objects of org unit ${orgUnitId} has the name in ${fields}${nearText(near)}`,
    `${nearRemedy('The platform', near)}1. Check whether the name is right. 2. ${correctIt} 3. If it is right, find the message that creates or renames the grade object (\`sis-relay letters list --org-unit ${orgUnitId}\`, \`sis-relay waiting list --org-unit ${orgUnitId}\`), and replay or wake it, or give the grade object this name on the platform.`,
  );
};

const sourceText: Readonly<Record<CrosswalkSource, SafeText>> = {
  platform: safe`the platform’s list`,
  file: safe`the university’s file`,
};

/** As in `2026-11-28T02:10Z`. */
const minuteOf = (ms: number): SafeText => ownText(`${new Date(ms).toISOString().slice(0, 16)}Z`);

/** The option of `crosswalk show`. */
const optionOf: Readonly<Record<CrosswalkKind, string>> = {
  orgUnitCode: '--code',
  userName: '--user-name',
  orgDefinedId: '--org-defined-id',
};
