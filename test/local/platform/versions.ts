/** What the platform lists; it knows no path of another version. */
export const versions = [
  { ProductCode: 'lp', LatestVersion: '1.52', SupportedVersions: ['1.9', '1.12', '1.22', '1.49', '1.52'] },
  {
    ProductCode: 'le',
    LatestVersion: '1.92',
    SupportedVersions: ['1.9', '1.12', '1.22', '1.52', '1.82', '1.92'],
  },
  { ProductCode: 'eP', LatestVersion: '2.5', SupportedVersions: ['2.5'] },
];

const known = new Set(
  versions.flatMap(({ ProductCode, SupportedVersions }) =>
    SupportedVersions.map((version) => `${ProductCode}/${version}`),
  ),
);

/** Whether what follows the API root begins with a component in a version of it that is listed. */
export const isListed = (apiPath: string): boolean => known.has(apiPath.split('/', 2).join('/'));
