#!/usr/bin/env python3
"""Stands in for AWS: moto's server, with the resources that a test sends events to.

    aws_services.py serve DIRECTORY NAME...
    aws_services.py read DIRECTORY NAME

serve listens at two free ports of 127.0.0.1, for HTTP and HTTPS. Both have the same content. The certificate is
DIRECTORY/cert.pem and DIRECTORY/key.pem. serve ends when its parent process ends. For each NAME there are: the
buckets NAME, NAME-store and NAME-lake; the Kinesis stream NAME; the Firehose stream NAME, which writes to the bucket
NAME-lake; the queues NAME, NAME-small (messages of at most 1 KiB), NAME.fifo and NAME-bus; the event bus NAME, from
which the entries of the source shop.web reach the queue NAME-bus; and the log stream web-1 of the log group /NAME.
The user penstock may do only what the presets need. The user guest may do nothing. A web identity can have the role
penstock.

When all that exists, serve writes DIRECTORY/services.json. From then on, every request needs a valid signature and a
permission. POST /moto-api/reset-auth with the body N (Content-Type: text/plain) lets the next N requests pass without
them; with the body inf, all pass.

read prints one JSON object: the content of the resources of NAME, and the requests that Penstock has sent since the
last read. It removes the messages from their queues.

Needs the packages moto, flask, flask-cors, PyYAML, py-partiql-parser and jsonpath-ng.
"""

import base64
import gzip
import hashlib
import json
import os
import re
import sys
import threading
import time
import urllib.request

REGION = "eu-central-1"
# IAM knows no permission for SendMessageBatch: sqs:SendMessage covers it. moto asks for the name of the operation.
ACTIONS = [
    "s3:PutObject",
    "kinesis:PutRecords",
    "firehose:PutRecordBatch",
    "sqs:SendMessage",
    "sqs:SendMessageBatch",
    "events:PutEvents",
    "logs:PutLogEvents",
]


def client(state, service):
    import boto3

    return boto3.client(
        service,
        endpoint_url=state["http"],
        region_name=REGION,
        aws_access_key_id=state["admin"][0],
        aws_secret_access_key=state["admin"][1],
    )


def command(state, path, body=b""):
    """Sends a command to moto itself."""
    request = urllib.request.Request(
        state["http"] + "/moto-api/" + path, data=body, headers={"Content-Type": "text/plain"}
    )
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).close()


# Serving


def policy(actions, **more):
    statement = {"Effect": "Allow", "Action": actions} | more
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def create_identities(state):
    iam = client(state, "iam")
    keys = {}
    for user, actions in [("admin", ["*"]), ("penstock", ACTIONS), ("guest", [])]:
        iam.create_user(UserName=user)
        if actions:
            iam.put_user_policy(UserName=user, PolicyName="own", PolicyDocument=policy(actions, Resource="*"))
        key = iam.create_access_key(UserName=user)["AccessKey"]
        keys[user] = [key["AccessKeyId"], key["SecretAccessKey"]]
    trust = policy("sts:AssumeRoleWithWebIdentity", Principal={"Federated": "accounts.example.org"})
    role = iam.create_role(RoleName="penstock", AssumeRolePolicyDocument=trust)["Role"]
    iam.put_role_policy(RoleName="penstock", PolicyName="own", PolicyDocument=policy(ACTIONS, Resource="*"))
    state.update(keys, role=role["Arn"])


def create_resources(state, name):
    s3, sqs, events, logs = (client(state, service) for service in ["s3", "sqs", "events", "logs"])
    for bucket in [name, f"{name}-store", f"{name}-lake"]:
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
    client(state, "kinesis").create_stream(StreamName=name, ShardCount=2)
    destination = {"RoleARN": state["role"], "BucketARN": f"arn:aws:s3:::{name}-lake"}
    client(state, "firehose").create_delivery_stream(
        DeliveryStreamName=name, ExtendedS3DestinationConfiguration=destination
    )
    for queue, attributes in [
        (name, {}),
        (f"{name}-small", {"MaximumMessageSize": "1024"}),
        (f"{name}.fifo", {"FifoQueue": "true"}),
        (f"{name}-bus", {}),
    ]:
        url = sqs.create_queue(QueueName=queue, Attributes=attributes)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.create_event_bus(Name=name)
    events.put_rule(Name="all", EventBusName=name, EventPattern=json.dumps({"source": ["shop.web"]}))
    events.put_targets(Rule="all", EventBusName=name, Targets=[{"Id": "queue", "Arn": arn}])
    logs.create_log_group(logGroupName=f"/{name}")
    logs.create_log_stream(logGroupName=f"/{name}", logStreamName="web-1")


def serve(directory, names):
    parent = os.getppid()
    os.environ["MOTO_RECORDER_FILEPATH"] = directory + "/requests.ndjson"
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    application = DomainDispatcherApplication(create_backend_app)
    state = {"admin": ["x", "x"]}
    certificate = (directory + "/cert.pem", directory + "/key.pem")
    for scheme, context in [("http", None), ("https", certificate)]:
        server = make_server(
            "127.0.0.1", 0, application, threaded=True, ssl_context=context, request_handler=MotoRequestHandler
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        state[scheme] = f"{scheme}://127.0.0.1:{server.server_port}"
    create_identities(state)
    for name in names:
        create_resources(state, name)
    command(state, "recorder/start-recording")
    command(state, "reset-auth", b"0")
    with open(directory + "/services.new", "w") as file:
        json.dump(state, file)
    os.rename(directory + "/services.new", directory + "/services.json")
    while os.getppid() == parent:
        time.sleep(0.5)


# Reading


def objects(s3, bucket):
    for entry in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
        answer = s3.get_object(Bucket=bucket, Key=entry["Key"])
        body = answer["Body"].read()
        if answer.get("ContentEncoding") == "gzip":
            body = gzip.decompress(body)
        yield {
            "key": entry["Key"],
            "storageClass": answer.get("StorageClass", "STANDARD"),
            "type": answer["ContentType"],
            "encoding": answer.get("ContentEncoding", ""),
            "text": body.decode(),
        }


def records(kinesis, stream):
    for number, shard in enumerate(kinesis.list_shards(StreamName=stream)["Shards"]):
        iterator = kinesis.get_shard_iterator(
            StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        for record in kinesis.get_records(ShardIterator=iterator)["Records"]:
            yield {"shard": number, "key": record["PartitionKey"], "text": record["Data"].decode()}


def messages(sqs, queue):
    """A message of a FIFO queue hides the later ones of its group, so all are removed as they come."""
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    while batch := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"]).get("Messages"):
        for message in batch:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            yield {
                "text": message["Body"],
                "group": message["Attributes"].get("MessageGroupId", ""),
                "deduplication": message["Attributes"].get("MessageDeduplicationId", ""),
            }


def log_events(logs, group):
    for event in logs.get_log_events(logGroupName=group, logStreamName="web-1", startFromHead=True)["events"]:
        yield {"time": event["timestamp"], "text": event["message"]}


def entries_of(text):
    """moto writes an entry and the line feed after it separately, so two entries can be on one line."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        entry, at = decoder.raw_decode(text, at)
        yield entry


def requests(state, directory):
    """moto checks the signature of the body's hash, but not the hash."""
    path = directory + "/requests.ndjson"
    with open(path) as file:
        entries = list(entries_of(file.read()))
    command(state, "recorder/reset-recording")
    for entry in entries:
        headers = {name.lower(): value for name, value in entry["headers"].items()}
        if not headers.get("user-agent", "").startswith("penstock/"):
            continue
        body = base64.b64decode(entry["body"]) if entry["body_encoded"] else entry["body"].encode()
        scope = re.search("Credential=([^/]+)/[0-9]+/([^/]+)/([^/]+)/", headers.get("authorization", ""))
        hash = headers.get("x-amz-content-sha256", "")
        yield {
            "line": f"{entry['method']} {entry['url']}",
            "key": scope[1] if scope else "",
            "region": scope[2] if scope else "",
            "service": scope[3] if scope else "",
            "token": headers.get("x-amz-security-token", ""),
            "hash": "body" if hash == hashlib.sha256(body).hexdigest() else hash,
        }


def read(directory, name):
    with open(directory + "/services.json") as file:
        state = json.load(file)
    s3, sqs = client(state, "s3"), client(state, "sqs")
    content = {
        "requests": requests(state, directory),
        "s3": objects(s3, name),
        "store": objects(s3, f"{name}-store"),
        "lake": objects(s3, f"{name}-lake"),
        "stream": records(client(state, "kinesis"), name),
        "queue": messages(sqs, name),
        "small": messages(sqs, f"{name}-small"),
        "fifo": messages(sqs, f"{name}.fifo"),
        "bus": messages(sqs, f"{name}-bus"),
        "logs": log_events(client(state, "logs"), f"/{name}"),
    }
    print(json.dumps({service: list(items) for service, items in content.items()}))


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "serve":
        serve(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 4 and sys.argv[1] == "read":
        read(sys.argv[2], sys.argv[3])
    else:
        sys.exit("usage: aws_services.py serve DIRECTORY NAME..., or aws_services.py read DIRECTORY NAME")
