-- Records up to this one are of gateways that knew an answer by the whole conversation before it.
CREATE TABLE old_record (up_to INT8 NOT NULL);

INSERT INTO old_record (up_to) SELECT max(nr) FROM record HAVING max(nr) IS NOT NULL;
