/** The hook that delays a server's end must be over before the server is killed. */
import { type Check, invalid, type Warning } from './field-error.ts';

export const shutdownEndsBeforeKill: Check = ({ spec }) => {
  const { enabled, preStopDelaySeconds, terminationGracePeriodSeconds } = spec.highAvailability.gracefulShutdown;
  if (!enabled || terminationGracePeriodSeconds > preStopDelaySeconds) return [];
  return [
    invalid(
      'spec.highAvailability.gracefulShutdown.terminationGracePeriodSeconds',
      terminationGracePeriodSeconds,
      `terminationGracePeriodSeconds (${terminationGracePeriodSeconds}) must exceed preStopDelaySeconds (${preStopDelaySeconds})`,
    ),
  ];
};

export const delayIsSwitchedOff: Warning = ({ spec }, { spec: written }) => {
  const delay = written.highAvailability?.gracefulShutdown?.preStopDelaySeconds;
  if (delay === undefined || spec.highAvailability.gracefulShutdown.enabled) return undefined;
  return 'spec.highAvailability.gracefulShutdown.preStopDelaySeconds: has no effect while enabled is not true; set it to true, or remove the section for a delay of 5 s';
};
