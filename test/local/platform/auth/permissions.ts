const permissions = [
  'SeeOrgUnits',
  'ManageOrgUnits',
  'SeeGradeObjects',
  'ManageGradeObjects',
  'SeeGradeValues',
  'EditGradeValues',
  'ManageEnrollments',
  'SeeClasslist',
  'SeeGroups',
  'SeeDropbox',
  'ManageDropbox',
  'SubmitToDropbox',
  'SeeContent',
  'ManageContent',
  'SeeAssessments',
  'SeeQuizAttempts',
  'ManageNews',
  'ManageLtiLinks',
  'SeeProfiles',
  'EditProfiles',
  'SeeUserAttributes',
  'EditUserAttributes',
  'SeeDemographics',
  'ManageDemographics',
  'SeeConfiguration',
  'ManageConfiguration',
  'SeeEPortfolio',
  'EditEPortfolio',
] as const;

/** The platform's security variables, as a 403 names them. */
export type Permission = (typeof permissions)[number];

export const everything = ['*'];

export const learnerPermissions: Permission[] = [
  'SeeOrgUnits',
  'SeeGradeObjects',
  'SeeClasslist',
  'SeeGroups',
  'SeeDropbox',
  'SubmitToDropbox',
  'SeeContent',
];

export const instructorPermissions: Permission[] = [
  ...learnerPermissions,
  'ManageGradeObjects',
  'SeeGradeValues',
  'EditGradeValues',
  'ManageDropbox',
  'ManageContent',
  'SeeAssessments',
  'SeeQuizAttempts',
  'ManageNews',
  'ManageLtiLinks',
];
