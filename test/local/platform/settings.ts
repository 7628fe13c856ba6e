import { exactly, id, oneOf, optional } from './http/bind.ts';

/**
 * How the platform behaves where deployments differ: the length of a page, whether the demographics field that is
 * known to fail does, who is signed in when the token entry path is opened in a browser, and whether a GET is answered
 * though its keys are refused, as it is known of some. By default each call must be proved.
 */
type Settings = {
  pageSize: number;
  demographicsFields: 'fail' | 'create';
  signedInUserId: number;
  invalidTokenReads: 'refuse' | 'answer';
};

export const defaultSettings: Settings = {
  pageSize: 100,
  demographicsFields: 'fail',
  signedInUserId: 100,
  invalidTokenReads: 'refuse',
};

const shape = exactly({
  pageSize: optional(id),
  demographicsFields: optional(oneOf('fail', 'create')),
  signedInUserId: optional(id),
  invalidTokenReads: optional(oneOf('refuse', 'answer')),
});

export function changeSettings(settings: Settings, changes: unknown): Settings {
  const { pageSize, demographicsFields, signedInUserId, invalidTokenReads } = shape(changes, '');
  settings.pageSize = pageSize ?? settings.pageSize;
  settings.demographicsFields = demographicsFields ?? settings.demographicsFields;
  settings.signedInUserId = signedInUserId ?? settings.signedInUserId;
  settings.invalidTokenReads = invalidTokenReads ?? settings.invalidTokenReads;
  return settings;
}
