/** Arguments that the operator owns, or that memcached would not understand, are refused. */
import { type GivenExtendedOption, isTaken, readExtendedOptions } from './extended-options.ts';
import { type Check, type FieldError, forbidden, invalid, tooLong, type Warning } from './field-error.ts';
import { OPTIONS } from './memcached-options.ts';
import { type GivenOption, readCommandLine } from './option-reader.ts';

const field = 'spec.memcached.extraArgs';

/** Nobody needs as much, and Linux has a limit, too. */
const MAX_LENGTH = 8192;

export const extraArgsAreBrief: Check = ({ spec }) => {
  const length = spec.memcached.extraArgs.reduce((sum, arg) => sum + arg.length + 1, 0);
  return length <= MAX_LENGTH ? [] : [tooLong(field, MAX_LENGTH)];
};

const NO_NUL = 'an argument must not contain the character NUL: no program can be started with it';

export const extraArgsAreTheUsers: Check = ({ spec }) => {
  const { extraArgs } = spec.memcached;
  const { options, end } = readCommandLine(extraArgs);
  return [
    ...extraArgs.flatMap((arg, index) => (arg.includes('\0') ? [invalid(`${field}[${index}]`, arg, NO_NUL)] : [])),
    ...options.flatMap(problemsOf),
    ...(end === undefined ? [] : [forbidden(`${field}[${end}]`, '"--" would end the options of memcached')]),
  ];
};

export const wordsAreIgnored: Warning = ({ spec }) => {
  const words = readCommandLine(spec.memcached.extraArgs).words.map((word) => JSON.stringify(word));
  return words.length > 0 ? `${field}: memcached ignores ${words.join(', ')}; remove it` : undefined;
};

function problemsOf(given: GivenOption): FieldError[] {
  const { index, text, option, value } = given;
  const place = `${field}[${index}]`;
  if (!option) return [invalid(place, text, `memcached has no such option; allowed are ${allowedOptions()}`)];
  const flag = option.name === undefined ? `-${option.letter}` : `-${option.letter} (--${option.name})`;
  if (option.owned !== undefined) return [forbidden(place, `${flag} is not for extraArgs: ${option.owned}`)];
  if (option.takesValue === true && value === undefined) return [invalid(place, text, `${flag} needs a value`)];
  if (!option.takesValue && value !== undefined) return [invalid(place, text, `${flag} takes no value`)];
  if (option.value && !option.value.holds(value ?? ''))
    return [invalid(place, value, `the value of ${flag} must be ${option.value.must}`)];
  return option.letter === 'o' ? readExtendedOptions(value ?? '').flatMap((each) => extendedProblems(place, each)) : [];
}

function extendedProblems(place: string, given: GivenExtendedOption): FieldError[] {
  const { text, name, option } = given;
  if (name.startsWith('ssl_')) return [forbidden(place, `${name} is not for extraArgs: set spec.security.tls instead`)];
  if (name.startsWith('proxy_')) return [forbidden(place, `${name} is not for extraArgs: a proxy is not a cache`)];
  if (!option) return [invalid(place, text, 'memcached has no such extended option (-o) and would not start')];
  return isTaken(given) ? [] : [invalid(place, text, `the value of ${name} must be ${option.value?.must}`)];
}

function allowedOptions(): string {
  return OPTIONS.filter(({ owned }) => owned === undefined)
    .map(({ letter }) => `-${letter}`)
    .join(' ');
}
