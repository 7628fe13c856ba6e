import { exactly, id, list, oneOf, optional, string } from './http/bind.ts';

/**
 * How the platform behaves where deployments differ: the length of a page, whether the demographics field that is
 * known to fail does, who is signed in when the token entry path is opened in a browser, and whether a GET is answered
 * though its keys are refused, as it is known of some (by default each call must be proved), and how the flags of an LTI link
 * are called that are named after the platform's vendor.
 */
type Settings = {
  pageSize: number;
  demographicsFields: 'fail' | 'create';
  signedInUserId: number;
  invalidTokenReads: 'refuse' | 'answer';
  ltiVendorFlags: string[];
};

export const defaultSettings: Settings = {
  pageSize: 100,
  demographicsFields: 'fail',
  signedInUserId: 100,
  invalidTokenReads: 'refuse',
  ltiVendorFlags: ['SendVendorUserName', 'SendVendorOrgDefinedId', 'SendVendorRoleId'],
};

const shape = exactly({
  pageSize: optional(id),
  demographicsFields: optional(oneOf('fail', 'create')),
  signedInUserId: optional(id),
  invalidTokenReads: optional(oneOf('refuse', 'answer')),
  ltiVendorFlags: optional(list(string)),
});

export function changeSettings(settings: Settings, changes: unknown): Settings {
  const { pageSize, demographicsFields, signedInUserId, invalidTokenReads, ltiVendorFlags } = shape(
    changes,
    '',
  );
  settings.pageSize = pageSize ?? settings.pageSize;
  settings.demographicsFields = demographicsFields ?? settings.demographicsFields;
  settings.signedInUserId = signedInUserId ?? settings.signedInUserId;
  settings.invalidTokenReads = invalidTokenReads ?? settings.invalidTokenReads;
  settings.ltiVendorFlags = ltiVendorFlags ?? settings.ltiVendorFlags;
  return settings;
}
