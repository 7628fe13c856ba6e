/** Actions of a service, by a list of words. */
export const of = (service: string, actions: string): string[] =>
  actions
    .trim()
    .split(/\s+/)
    .map((action) => `${service}:${action}`);

const alarms = `DeleteAlarms DescribeAlarms ListTagsForResource TagResource UntagResource`;

/**
 * What CloudFormation calls with the rights of who deploys, to make, update, read and remove a resource, by type: what AWS' schemas of
 * these types name for their properties that a stage has. From knowledge of these schemas, not from an account.
 */
export const callsOfType: Readonly<Record<string, readonly string[]>> = {
  'AWS::S3::Bucket': of(
    's3',
    `CreateBucket DeleteBucket ListBucket ListTagsForResource TagResource UntagResource
      GetBucketCORS GetBucketLocation GetBucketLogging GetBucketNotification GetBucketObjectLockConfiguration
      GetBucketOwnershipControls GetBucketPublicAccessBlock GetBucketTagging GetBucketVersioning GetBucketWebsite
      GetAccelerateConfiguration GetAnalyticsConfiguration GetEncryptionConfiguration GetIntelligentTieringConfiguration
      GetInventoryConfiguration GetLifecycleConfiguration GetMetricsConfiguration GetReplicationConfiguration
      PutBucketNotification PutBucketOwnershipControls PutBucketPublicAccessBlock PutBucketTagging PutBucketVersioning
      PutEncryptionConfiguration PutLifecycleConfiguration`,
  ),
  'AWS::S3::BucketPolicy': of('s3', 'DeleteBucketPolicy GetBucketPolicy PutBucketPolicy'),
  'AWS::Logs::LogGroup': of(
    'logs',
    `AssociateKmsKey CreateLogGroup DeleteLogGroup DeleteRetentionPolicy DescribeIndexPolicies DescribeLogGroups
      DisassociateKmsKey GetDataProtectionPolicy ListTagsForResource PutRetentionPolicy TagResource UntagResource`,
  ),
  'AWS::Lambda::Function': [
    ...of(
      'lambda',
      `CreateFunction DeleteFunction DeleteFunctionConcurrency GetFunction GetFunctionCodeSigningConfig
        GetFunctionConfiguration GetFunctionRecursionConfig GetRuntimeManagementConfig ListTags PutFunctionConcurrency
        PutFunctionRecursionConfig PutRuntimeManagementConfig TagResource UntagResource UpdateFunctionCode
        UpdateFunctionConfiguration`,
    ),
    ...of('ec2', 'DescribeNetworkInterfaces DescribeSecurityGroups DescribeSubnets DescribeVpcs'),
  ],
  'AWS::Lambda::EventInvokeConfig': of(
    'lambda',
    `DeleteFunctionEventInvokeConfig GetFunctionEventInvokeConfig PutFunctionEventInvokeConfig
      UpdateFunctionEventInvokeConfig`,
  ),
  'AWS::Lambda::Version': of('lambda', 'GetFunctionConfiguration ListVersionsByFunction PublishVersion'),
  'AWS::Lambda::Alias': of(
    'lambda',
    'CreateAlias DeleteAlias GetAlias GetProvisionedConcurrencyConfig UpdateAlias',
  ),
  'AWS::Lambda::Permission': of('lambda', 'AddPermission GetPolicy RemovePermission'),
  'AWS::Lambda::EventSourceMapping': of(
    'lambda',
    `CreateEventSourceMapping DeleteEventSourceMapping GetEventSourceMapping ListTags TagResource UntagResource
      UpdateEventSourceMapping`,
  ),
  'AWS::Scheduler::Schedule': of('scheduler', 'CreateSchedule DeleteSchedule GetSchedule UpdateSchedule'),
  'AWS::DynamoDB::Table': of(
    'dynamodb',
    `CreateTable DeleteTable DescribeContinuousBackups DescribeContributorInsights DescribeKinesisStreamingDestination
      DescribeTable DescribeTimeToLive GetResourcePolicy ListTagsOfResource TagResource UntagResource
      UpdateContinuousBackups UpdateTable UpdateTimeToLive`,
  ),
  'AWS::SecretsManager::Secret': of(
    'secretsmanager',
    `CreateSecret DeleteSecret DescribeSecret GetRandomPassword GetSecretValue TagResource UntagResource
      UpdateSecret`,
  ),
  'AWS::Events::Rule': of(
    'events',
    `DeleteRule DescribeRule ListTagsForResource ListTargetsByRule PutRule PutTargets RemoveTargets TagResource
      UntagResource`,
  ),
  'AWS::SNS::Topic': of(
    'sns',
    `CreateTopic DeleteTopic GetDataProtectionPolicy GetTopicAttributes ListSubscriptionsByTopic ListTagsForResource
      SetTopicAttributes Subscribe TagResource Unsubscribe UntagResource`,
  ),
  'AWS::SNS::TopicPolicy': of('sns', 'SetTopicAttributes'),
  'AWS::SQS::Queue': of(
    'sqs',
    `CreateQueue DeleteQueue GetQueueAttributes GetQueueUrl ListQueueTags SetQueueAttributes TagQueue UntagQueue`,
  ),
  'AWS::SQS::QueuePolicy': of('sqs', 'SetQueueAttributes'),
  'AWS::IAM::Role': of(
    'iam',
    `CreateRole DeleteRole DeleteRolePolicy GetRole GetRolePolicy ListAttachedRolePolicies ListRolePolicies PassRole
      PutRolePermissionsBoundary PutRolePolicy TagRole UntagRole UpdateAssumeRolePolicy`,
  ),
  'AWS::IAM::ManagedPolicy': of(
    'iam',
    `CreatePolicy CreatePolicyVersion DeletePolicy DeletePolicyVersion GetPolicy GetPolicyVersion
      ListEntitiesForPolicy ListPolicyVersions`,
  ),
  'AWS::CloudWatch::Alarm': of('cloudwatch', `PutMetricAlarm ${alarms}`),
  'AWS::CloudWatch::CompositeAlarm': of('cloudwatch', `PutCompositeAlarm ${alarms}`),
  'AWS::CloudWatch::Dashboard': of('cloudwatch', 'DeleteDashboards GetDashboard PutDashboard'),
};

/** What the command calls itself, and what reads the code that it uploads: Lambda, and CloudFormation its template. */
export const ownCalls = {
  stack: of(
    'cloudformation',
    `CreateChangeSet CreateStack DeleteChangeSet DeleteStack DescribeChangeSet DescribeStackEvents
      DescribeStackResource DescribeStacks ExecuteChangeSet ListStackResources UpdateStack UpdateTerminationProtection
      ValidateTemplate`,
  ),
  codeBucket: of('s3', 'GetBucketLocation ListBucket ListBucketVersions'),
  code: of('s3', 'DeleteObject DeleteObjectVersion GetObject GetObjectVersion PutObject'),
  account: of('lambda', 'GetAccountSettings'),
};
