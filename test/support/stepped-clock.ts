/** Loaded into a process before everything else: SIGUSR2 sets its clock an hour ahead, then an hour back, then right again. */

const HOUR_MS = 3_600_000;
const steps = [HOUR_MS, -HOUR_MS, 0];
const RealDate = Date;
let offset = 0;

process.on('SIGUSR2', () => {
  offset = steps.shift() ?? offset;
});

/** What counts the time that passes (`performance.now`, timers) goes on as ever, as in a process whose machine is given another time. */
globalThis.Date = class extends RealDate {
  constructor(...args: ConstructorParameters<typeof Date> | []) {
    if (args.length === 0) super(RealDate.now() + offset);
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + offset;
  }
} as DateConstructor;
