import { describe, expect, test } from 'vitest';
import { memcachedKind } from '../memcached.ts';
import { describeErrors } from './field-error.ts';
import { validate, warningsAbout } from './index.ts';

function memcached(extraArgs: readonly string[]) {
  const { apiVersion, kind } = memcachedKind;
  return { apiVersion, kind, metadata: { name: 'my-cache' }, spec: { memcached: { extraArgs } } };
}

function problems(extraArgs: readonly string[]): string[] {
  return validate(memcached(extraArgs)).map((error) => describeErrors([error]));
}

describe('allowed', () => {
  test.for([
    [[]],
    [['-M']],
    [['-f', '1.5', '-n', '48']],
    [['-vf2']],
    [['-b1024', '-R', '20', '-CFXW']],
    [['--slab-growth-factor=1.1']],
    [['--slab-growth', '1.1']],
    [['--verbose=2']],
    [['-o', 'modern,idle_timeout=60,no_lru_crawler']],
    [['-oext_path=/dev/shm/x:64m']],
    [['-D', '-m']], // the value of -D
  ])('%j', ([args = []]) => {
    expect(problems(args)).toEqual([]);
  });
});

describe('owned by the operator', () => {
  test.for([
    [['-m', '64'], '[0]: Forbidden: -m (--memory-limit) is not for extraArgs: set spec.memcached.maxMemoryMB instead'],
    [['-m64'], '[0]: Forbidden: -m (--memory-limit) is not for extraArgs: set spec.memcached.maxMemoryMB instead'],
    [
      ['--memory-l=64'],
      '[0]: Forbidden: -m (--memory-limit) is not for extraArgs: set spec.memcached.maxMemoryMB instead',
    ],
    [
      ['-M', '-c', '1'],
      '[1]: Forbidden: -c (--conn-limit) is not for extraArgs: set spec.memcached.maxConnections instead',
    ],
    [['-vd'], '[0]: Forbidden: -d (--daemon) is not for extraArgs: the container would end at once'],
    [['-V'], '[0]: Forbidden: -V (--version) is not for extraArgs: memcached would print its version and exit'],
    [
      ['-l', '0.0.0.0'],
      '[0]: Forbidden: -l (--listen) is not for extraArgs: the operator decides where memcached listens',
    ],
    [['-A'], '[0]: Forbidden: -A (--enable-shutdown) is not for extraArgs: every client could stop the server'],
    [['-S'], '[0]: Forbidden: -S (--enable-sasl) is not for extraArgs: set spec.security.sasl instead'],
    [['-o', 'modern,ssl_key=x'], '[0]: Forbidden: ssl_key is not for extraArgs: set spec.security.tls instead'],
    [['-o', 'proxy_config=routelib'], '[0]: Forbidden: proxy_config is not for extraArgs: a proxy is not a cache'],
    [['-M', '--', '-S'], '[1]: Forbidden: "--" would end the options of memcached'],
  ] as const)('%j', ([args, problem]) => {
    expect(problems(args)).toEqual([`spec.memcached.extraArgs${problem}`]);
  });

  test.for('dhVilpsuUmctIAYSZBekL'.split(''))('-%s', (letter) => {
    expect(validate(memcached([`-${letter}`, '1']))[0]).toMatchObject({ reason: 'FieldValueForbidden' });
  });
});

describe('refused by memcached', () => {
  const ALLOWED = 'memcached has no such option; allowed are -a -b -C -D -f -F -M -n -N -o -P -r -R -v -W -X';
  test.for([
    [['-Q'], `[0]: Invalid value: "-Q": ${ALLOWED}`],
    [['--nothing'], `[0]: Invalid value: "--nothing": ${ALLOWED}`],
    [['--slab', '2'], `[0]: Invalid value: "--slab": ${ALLOWED}`],
    [['-f'], '[0]: Invalid value: "-f": -f (--slab-growth-factor) needs a value'],
    [['-f', '1'], '[0]: Invalid value: "1": the value of -f (--slab-growth-factor) must be a number above 1'],
    [['-n', 'x'], '[0]: Invalid value: "x": the value of -n (--slab-min-size) must be a number above 0'],
    [['--disable-cas=1'], '[0]: Invalid value: "--disable-cas=1": -C (--disable-cas) takes no value'],
    [['-o', 'foo'], '[0]: Invalid value: "foo": memcached has no such extended option (-o) and would not start'],
  ] as const)('%j', ([args, problem]) => {
    expect(problems(args)).toEqual([`spec.memcached.extraArgs${problem}`]);
  });
});

test('words that memcached ignores are worth a warning', () => {
  expect(warningsAbout(memcached(['foo', '-f', '2', '-', '']))).toEqual([
    'spec.memcached.extraArgs: memcached ignores "foo", "-", ""',
  ]);
});
