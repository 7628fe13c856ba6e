/** What services of AWS send to a queue, as their documentation shows it. */

export const inTopic = (text: string, more: object = {}): string =>
  JSON.stringify({
    Type: 'Notification',
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    TopicArn: 'arn:aws:sns:eu-west-1:123456789012:sis-events',
    Subject: 'A grade of Ann Lee',
    Message: text,
    Timestamp: '2026-11-23T06:00:00.000Z',
    SignatureVersion: '1',
    Signature: 'EXAMPLEw6JRN',
    SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService.pem',
    UnsubscribeURL: 'https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe',
    ...more,
  });

export const onBus = (detail: unknown, more: object = {}): string =>
  JSON.stringify({
    version: '0',
    id: '6a7e8feb-b491-4cf7-a9f1-bf3703467718',
    'detail-type': 'Grade changed',
    source: 'edu.example.sis',
    account: '123456789012',
    time: '2026-11-23T06:00:00Z',
    region: 'eu-west-1',
    resources: [],
    detail,
    ...more,
  });

type Named = { bucket?: string; key: string; versionId?: string; name?: string };

/** As S3 writes keys to queues: as in a form's answer. */
export const noticeOf = (...files: Named[]): string =>
  JSON.stringify({
    Records: files.map(({ bucket = 'files', key, versionId, name = 'ObjectCreated:Put' }) => ({
      eventVersion: '2.1',
      eventSource: 'aws:s3',
      awsRegion: 'eu-west-1',
      eventTime: '2026-11-23T06:00:00.000Z',
      eventName: name,
      userIdentity: { principalId: 'AWS:AIDAEXAMPLE' },
      s3: {
        s3SchemaVersion: '1.0',
        configurationId: 'events',
        bucket: { name: bucket, ownerIdentity: { principalId: 'A3EXAMPLE' }, arn: `arn:aws:s3:::${bucket}` },
        object: {
          key: encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/'),
          size: 1024,
          eTag: '0123456789abcdef0123456789abcdef',
          sequencer: '0055AED6DCD90281E5',
          ...(versionId && { versionId }),
        },
      },
    })),
  });

export const busNoticeOf = ({ bucket = 'files', key, versionId, name = 'Object Created' }: Named): string =>
  onBus(
    {
      version: '0',
      bucket: { name: bucket },
      object: {
        key,
        size: 1024,
        etag: '0123456789abcdef0123456789abcdef',
        sequencer: '0055AED6DCD90281E5',
        ...(versionId && { 'version-id': versionId }),
      },
      'request-id': 'N4N7GDK58NMKJ12R',
      requester: '123456789012',
      reason: 'PutObject',
    },
    { source: 'aws.s3', 'detail-type': name },
  );

export const testOfS3 = JSON.stringify({
  Service: 'Amazon S3',
  Event: 's3:TestEvent',
  Time: '2026-11-23T06:00:00.000Z',
  Bucket: 'files',
  RequestId: '5582815E1AEA5ADF',
  HostId: '8cLeGAmw098X5cv4Zkwcmo8vvZa3eH3eKxsPzbB9wrR+YstdA6Knx4Ip8EXAMPLE',
});
