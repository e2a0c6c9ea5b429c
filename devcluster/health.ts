/** Asks an address of an instance whether it is well. */
import { request as plain } from 'node:http';
import { request as secure } from 'node:https';

/** Whether a GET is answered with 200. Who answers is not checked: it is one of our own processes, or nobody. */
export function answers(url: string): Promise<boolean> {
  const request = url.startsWith('https:') ? secure : plain;
  return new Promise((resolve) => {
    const call = request(url, { agent: false, rejectUnauthorized: false, timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.once('timeout', () => call.destroy());
    call.once('error', () => resolve(false));
    call.end();
  });
}
