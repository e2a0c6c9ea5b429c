/** Those who want to hear of something. One that fails does not keep the others from hearing. */
import type { Log, LogFields } from '../log.ts';

export class Listeners<Message> {
  readonly #handlers: ((message: Message) => void)[] = [];
  readonly #log: Log;
  readonly #fields: LogFields;

  constructor(log: Log, fields: LogFields) {
    this.#log = log;
    this.#fields = fields;
  }

  /** The handler is first told what it has missed. */
  add(handler: (message: Message) => void, missed: readonly Message[]): void {
    this.#handlers.push(handler);
    for (const message of missed) this.#call(handler, message);
  }

  tell(message: Message): void {
    for (const handler of this.#handlers) this.#call(handler, message);
  }

  #call(handler: (message: Message) => void, message: Message): void {
    try {
      handler(message);
    } catch (error) {
      this.#log.error('listener failed', { ...this.#fields, error });
    }
  }
}
