/** An error that a person can act on: what went wrong, and what to do about it. */
export class Problem extends Error {
  readonly remedy: string;

  constructor(what: string, remedy: string, options?: ErrorOptions) {
    super(what, options);
    this.name = 'Problem';
    this.remedy = remedy;
  }
}
