/** Of a file that cannot be used as it is, whoever tries. Its message is for people, begins with the file, and holds none of its content. */
export class UnusableFile extends Error {
  override name = 'UnusableFile';
}
