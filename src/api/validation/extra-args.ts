/** Arguments that the operator owns, or with which memcached would not run, are refused. */
import { type Check, type FieldError, forbidden, invalid, type Warning } from './field-error.ts';
import { EXTENDED_OPTIONS, OPTIONS } from './memcached-options.ts';
import { type GivenOption, readCommandLine } from './option-reader.ts';

const field = 'spec.memcached.extraArgs';

export const extraArgsAreTheUsers: Check = ({ spec }) => {
  const { extraArgs } = spec.memcached;
  // Everything after it would be ignored, including what the operator appends.
  const end = extraArgs.indexOf('--');
  if (end >= 0) return [forbidden(`${field}[${end}]`, '"--" would end the options of memcached')];
  return readCommandLine(extraArgs).options.flatMap(problemsOf);
};

export const wordsAreIgnored: Warning = ({ spec }) => {
  const words = readCommandLine(spec.memcached.extraArgs).words.map((word) => JSON.stringify(word));
  return words.length > 0 ? `${field}: memcached ignores ${words.join(', ')}` : undefined;
};

function problemsOf(given: GivenOption): FieldError[] {
  const { index, text, option, value } = given;
  const place = `${field}[${index}]`;
  if (!option) return [invalid(place, text, `memcached has no such option; allowed are ${allowedOptions()}`)];
  const flag = option.name === undefined ? `-${option.letter}` : `-${option.letter} (--${option.name})`;
  if (option.owned !== undefined) return [forbidden(place, `${flag} is not for extraArgs: ${option.owned}`)];
  if (option.takesValue === true && value === undefined) return [invalid(place, text, `${flag} needs a value`)];
  if (!option.takesValue && value !== undefined) return [invalid(place, text, `${flag} takes no value`)];
  if (option.above !== undefined && !(Number.parseFloat(value ?? '') > option.above)) {
    return [invalid(place, value, `the value of ${flag} must be a number above ${option.above}`)];
  }
  return option.letter === 'o' ? extendedProblems(place, value ?? '') : [];
}

/** -o takes a list: "modern,idle_timeout=60". */
function extendedProblems(place: string, list: string): FieldError[] {
  return list.split(',').flatMap((item) => {
    const [name = ''] = item.split('=');
    if (name.startsWith('ssl_'))
      return [forbidden(place, `${name} is not for extraArgs: set spec.security.tls instead`)];
    if (name.startsWith('proxy_')) return [forbidden(place, `${name} is not for extraArgs: a proxy is not a cache`)];
    if (name.startsWith('ext_') || EXTENDED_OPTIONS.has(name)) return [];
    return [invalid(place, item, 'memcached has no such extended option (-o) and would not start')];
  });
}

function allowedOptions(): string {
  return OPTIONS.filter(({ owned }) => owned === undefined)
    .map(({ letter }) => `-${letter}`)
    .join(' ');
}
