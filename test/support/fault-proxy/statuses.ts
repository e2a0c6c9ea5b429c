/** Bad answers in the words of the API server. */

const REASONS: Readonly<Record<number, string>> = {
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

export function statusOf(code: number): object {
  const reason = REASONS[code] ?? '';
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: `a ${code} of the fault proxy`, reason, code };
}
